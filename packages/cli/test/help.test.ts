import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { cliDocText } from '../../../scripts/cli-doc-text.ts'
import { calls } from '../../sdk/src/client/client.ts'
import { settingNames } from '../../service/src/config/setting-names.ts'
import { sections } from '../src/commands/all.ts'
import { countersign, main, runProcess } from './countersign.ts'

const sources = join(import.meta.dirname, '../src')
const rows = sections.flatMap(([, each]) => each)
const loaded = rows.map(([name, , load]) => ({ name, load }))
const settingFlags = settingNames.map((name) => `--${name.replaceAll('_', '-')}`)

describe('help', () => {
  test('opens with examples and lists every command', async () => {
    const { code, out, err } = await runProcess(['--help'])
    expect(code).toBe(0)
    expect(err).toBe('')
    expect(out).toMatch(/^Examples\n {2}countersign /)
    for (const [name, summary] of rows)
      expect(out).toMatch(
        new RegExp(`^  ${name} +${summary.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`, 'm'),
      )
    for (const argv of [['help'], ['-h']]) expect((await countersign(argv)).out).toBe(out)
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([])
  })
  test('of a command is the same, asked either way', async () => {
    const one = await countersign(['revoke-user', '--help'])
    expect(one.code).toBe(0)
    expect(await countersign(['help', 'revoke-user'])).toMatchObject({ code: 0, out: one.out })
    expect(await countersign(['help', 'sites', 'create'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('sites create'),
    })
  })
  test('is where docs/cli.md comes from', { tags: 'long' }, async () => {
    const written = readFileSync(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8')
    expect(written, 'run npm run cli-docs').toBe(await cliDocText())
  })
  test.each(loaded)(
    'of $name opens with examples of itself that have only options it has',
    async ({ name, load }) => {
      const command = await load()
      const verbs = 'verbs' in command ? Object.entries(command.verbs) : [['', command] as const]
      for (const [verb, spec] of verbs) {
        const words = verb === '' ? [name] : [name, verb]
        const { out } = await countersign([...words, '--help'])
        expect(out.split('\n')[0]).toBe('Examples')
        for (const [line] of spec.examples) {
          expect(line).toContain(`countersign ${words.join(' ')}`)
          const [, flags = ''] = line.split(`countersign ${words.join(' ')}`)
          const own = flags.split(/[|;<>]|&& /)[0] ?? ''
          for (const [flag] of own.matchAll(/(?<=\s)--[a-z-]+/g))
            if (!(spec.takesSettings && settingFlags.includes(flag))) expect(out, line).toContain(flag)
        }
        for (const line of out.split('\n').filter((each) => !each.startsWith('  ')))
          expect(line.length).toBeLessThanOrEqual(104)
      }
    },
  )
})

describe('a command line that does not fit', () => {
  test('nothing at all is answered with the overview, and 2', async () => {
    const { code, out, err } = await runProcess([])
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err).toContain('Usage: countersign <command>')
  })
  test.each([
    ['revoke-usr', 'Did you mean revoke-user?'],
    ['toString', 'There is no command "toString".'],
    ['--json', 'There is no command "--json".'],
  ])('%s', async (word, words) => {
    expect(await countersign([word, '--no-color'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(word === '--json' ? 'no command' : words),
    })
  })
  test('the version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))
    expect(await countersign(['--version'])).toMatchObject({ code: 0, out: `${version}\n` })
  })
})

test('every call of the client that is not for a sign-in has a command', () => {
  const text = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(sources, file), 'utf8'))
    .join('\n')
  const missing = Object.keys(calls).filter((name) => !new RegExp(`client\\.${name}\\(`).test(text))
  expect(missing.filter((name) => !['startSignIn', 'signInResult', 'discovery'].includes(name))).toEqual([])
})

describe('what is loaded', () => {
  const preload = join(import.meta.dirname, 'loaded-modules.mjs')
  const loadedBy = async (...argv: string[]): Promise<readonly string[]> => {
    const flags = ['--conditions=countersign-source', '--import', preload, main, ...argv]
    const { stderr } = await promisify(execFile)(process.execPath, flags, {
      env: { PATH: process.env.PATH },
    }).catch((ended: { stderr: string }) => ended)
    return JSON.parse(/^LOADED (.*)$/m.exec(stderr)?.[1] ?? '[]')
  }
  const packagesIn = (urls: readonly string[]) =>
    [
      ...new Set(
        urls.flatMap(
          (url) =>
            /\/(?:packages|node_modules)\/((?:@[^/]+\/)?[^/]+)\//.exec(
              url.replace(/.*\/node_modules\//, '/node_modules/'),
            )?.[1] ?? [],
        ),
      ),
    ].sort()

  test('for help is nothing but this package', { tags: 'long' }, async () => {
    expect(packagesIn(await loadedBy('--help'))).toEqual(['cli'])
    expect(packagesIn(await loadedBy('revoke-user', '--help'))).toEqual(['cli', 'commander'])
    expect(packagesIn(await loadedBy('serve', '--help'))).toEqual(['cli', 'commander'])
  })
  test('for a call of the service is its client, without the core, the service or schemas', {
    tags: 'long',
  }, async () => {
    const loaded = await loadedBy('sites', 'list', '--url', 'http://127.0.0.1:1')
    expect(packagesIn(loaded)).toEqual(['cli', 'commander', 'sdk'])
  })
  test('for a credential is the core, without the service or schemas', { tags: 'long' }, async () => {
    expect(packagesIn(await loadedBy('keygen', '-'))).toEqual(['cli', 'commander', 'core'])
  })
})
