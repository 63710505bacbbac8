import { describe, expect, test } from 'vitest'
import { settingNames } from '../../service/src/config/setting-names.ts'
import { KEY_LEAD_MS, KEY_RELOAD_MS } from '../../service/src/keys/service-keys.ts'
import { run } from '../../service/test/operations/terminal.ts'
import type { Verb } from '../src/command.ts'
import { sections } from '../src/commands/all.ts'

const rows = await Promise.all(
  sections.flatMap(([, each]) => each).map(async ([name, , load]) => [name, await load()] as const),
)
const commands = rows.filter((row): row is readonly [string, Verb] => 'takesSettings' in row[1])

describe.each(commands)('%s', (name, command) => {
  const words = (command.words ?? []).flatMap(([word]) => (word.startsWith('<') ? ['x'] : []))

  test('has help that runs nothing, whatever the settings are', async () => {
    const { code, said } = await run([name, '--port', 'x', '--help'])
    expect(code).toBe(0)
    expect(said).toContain(`Usage: countersign ${name}`)
    expect(said).not.toContain('--port <value>')
  })
  test('shows settings that there are, in its examples', () => {
    const flags = command.examples.flatMap(([line]) =>
      [...line.matchAll(/--([a-z-]+)/g)].map(([, flag = '']) => flag),
    )
    const known = [
      ...['config', 'help', 'dry-run', 'json'],
      ...(command.options ?? []).map(([option]) => option.replace('--', '').replace(/ <.*/, '')),
      ...settingNames.map((setting) => setting.replaceAll('_', '-')),
    ]
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([])
  })
  test('rejects a word too many', async () => {
    const { code, noted } = await run([name, ...(command.words ?? []).map(() => 'x'), 'stray'])
    expect(code).toBe(2)
    expect(noted).toContain(`More: countersign ${name} --help`)
  })
  test('rejects settings that there are not, repeated ones and those without a value', async () => {
    const unknown = await run([name, ...words, '--colour', 'red', '--port=1', '--port', '2'])
    expect(unknown.code).toBe(2)
    expect(unknown.noted).toContain('--colour is neither an option of this command nor a setting')
    expect(unknown.noted).toContain('--port is given twice')
    expect((await run([name, ...words, '--port'])).code).toBe(2)
  })
})

test('the service has a command for everything that an operator does', () => {
  expect(commands).toHaveLength(20)
})

test('a word that is needed is asked for', async () => {
  for (const name of ['backup', 'restore', 'delete-operator-key']) expect((await run([name])).code).toBe(2)
})

test('the help of key rotation states the delays of the service', async () => {
  const { said } = await run(['rotate-issuer-key', '--help'])
  expect(said).toContain(`signs in ${KEY_LEAD_MS / 1000} seconds`)
  expect(said).toContain(`every ${KEY_RELOAD_MS / 1000} seconds`)
})

test('with --json a result is one line of JSON, and variables of the command line are no mistakes', async () => {
  const env = {
    COUNTERSIGN_BASE_URL: 'https://id.example',
    COUNTERSIGN_MASTER_KEY: '0123456789abcdef'.repeat(4),
  }
  const theirs = {
    COUNTERSIGN_URL: 'https://id.example',
    COUNTERSIGN_SITE: 'a.example',
    COUNTERSIGN_API_KEY: 'x',
    COUNTERSIGN_API_KEY_FILE: 'y',
  }
  const { code, said } = await run(['config', '--json'], { ...env, ...theirs })
  expect(code).toBe(0)
  expect(said).not.toContain('\n')
  expect(JSON.parse(said)).toMatchObject({ base_url: 'https://id.example' })
})
