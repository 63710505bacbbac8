import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Verb } from '../src/command.ts'
import { sections } from '../src/commands/all.ts'
import { run } from '../src/run.ts'
import type { Terminal } from '../src/terminal/output.ts'

const directory = mkdtempSync(join(tmpdir(), 'countersign-mistakes-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Runs a command line without a process. `said` is all that it prints for people. */
async function type(line: readonly string[], env: Record<string, string> = {}) {
  const results: string[] = []
  const said: string[] = []
  const at: Terminal = {
    // A directory without a development service.
    env: { COUNTERSIGN_DATA_DIR: directory, ...env },
    isJson: false,
    canAsk: false,
    canRedraw: false,
    result: (_facts, words) => results.push(words()),
    item: (_facts, words) => results.push(words()),
    line: (text) => results.push(text),
    raw: () => results.push('bytes'),
    note: (text) => said.push(text),
    progress: () => undefined,
    paint: (_style, text) => text,
    ask: async () => false,
  }
  return { code: await run(line, at), results, said: said.join('\n') }
}

interface Line {
  readonly name: string
  readonly verb: Verb
}

const lines = (
  await Promise.all(
    sections
      .flatMap(([, rows]) => rows)
      .map(async ([name, , load]): Promise<readonly Line[]> => {
        const command = await load()
        return 'verbs' in command
          ? Object.entries(command.verbs).map(([each, verb]) => ({ name: `${name} ${each}`, verb }))
          : [{ name, verb: command }]
      }),
  )
).flat()

describe('a mistake', () => {
  test.each(lines.filter(({ verb }) => !verb.takesSettings))(
    'in an option of $name is named, with where to read more',
    async ({ name }) => {
      const { code, results, said } = await type([...name.split(' '), '--nonsense'])
      expect([code, results]).toEqual([2, []])
      expect(said).toBe(`Unknown option '--nonsense'\nMore: countersign ${name} --help`)
    },
  )
  test.each(lines.filter(({ verb }) => verb.takesSettings))(
    'in an option or a setting of $name is named, with the other mistakes',
    async ({ name, verb }) => {
      const required = (verb.words ?? []).filter(([word]) => word.startsWith('<'))
      const line = [name, ...required.map(() => 'any'), '--nonsense', '--port']
      const { code, results, said } = await type(line)
      expect([code, results]).toEqual([2, []])
      expect(said).toContain('- --nonsense is neither an option of this command nor a setting')
      expect(said).toContain('- --port needs a value')
    },
  )
  const service = { COUNTERSIGN_URL: 'https://id.example' }
  test.each<[string[], Record<string, string>, string]>([
    [['nonsense'], {}, 'There is no command "nonsense". List all commands: countersign --help'],
    [['present'], {}, "Missing required argument 'url'\nMore: countersign present --help"],
    [
      ['present', '/x', '--credential', 'nowhere.json'],
      service,
      'The credential cannot be read from nowhere.json (ENOENT). Check the path.',
    ],
    [
      ['verifiers', '--url', 'id.example'],
      {},
      '--url must be an http or https URL, such as https://id.example.',
    ],
    [
      ['verifiers'],
      { COUNTERSIGN_URL: 'nonsense' },
      'COUNTERSIGN_URL must be an http or https URL, such as https://id.example.',
    ],
    [['verifiers'], service, 'Missing site. Give --site, or set COUNTERSIGN_SITE.'],
    [
      ['issue', '--user-ref', 'a'],
      service,
      'Missing --scope. Give at least one, such as --scope orders:read',
    ],
    [
      ['add', 'koa', '--project', directory],
      {},
      'There is no framework "koa" here. Give one of express, fastify, hono, next.',
    ],
    [['revoke-user'], service, 'Missing user. Give one user, or --issuer with --subject, but not both.'],
  ])('%j says what is wrong and what to type', async (line, env, said) => {
    expect(await type(line, env)).toEqual({ code: 2, results: [], said })
  })
})
