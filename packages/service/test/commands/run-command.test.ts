import { describe, expect, test } from 'vitest'
import { commands } from '../../src/commands/all.ts'
import { settingNames } from '../../src/config.ts'
import { run } from './terminal.ts'

describe('the command line', () => {
  test('opens its help with examples and lists every command', async () => {
    const { code, said, noted } = await run(['--help'])
    expect(code).toBe(0)
    expect(said).toMatch(/^Examples\n {2}countersign serve /)
    for (const name of Object.keys(commands)) expect(said).toMatch(new RegExp(`^  ${name} `, 'm'))
    expect(noted).toBe('')
    expect((await run(['help'])).said).toBe(said)
  })
  test.each([[[]], [['sing']], [['toString']], [['--port', '1']]])(
    'answers %j with how it is used',
    async (argv) => {
      const { code, said, noted } = await run(argv)
      expect(code).toBe(2)
      expect(said).toBe('')
      expect(noted).toContain('usage: countersign <command>')
    },
  )
  test('tells its version', async () => {
    expect(await run(['--version'])).toMatchObject({
      code: 0,
      said: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    })
  })
})

describe.each(Object.entries(commands))('%s', (name, command) => {
  test('has help that opens with examples of itself, and runs nothing', async () => {
    const { code, said } = await run([name, '--port', 'x', '--help'])
    expect(code).toBe(0)
    expect(said.split('\n')[0]).toBe('Examples')
    expect(said.split('\n')[1]).toContain(`countersign ${name}`)
    expect(said).toContain(`usage: countersign ${name}`)
    for (const line of said.split('\n')) expect(line.length).toBeLessThanOrEqual(104)
  })
  test('shows settings that there are, in its examples', () => {
    const flags = command.examples.flatMap(([line]) =>
      [...line.matchAll(/--([a-z-]+)/g)].map(([, flag = '']) => flag),
    )
    const known = [
      'config',
      'help',
      ...(command.switches ?? []),
      ...settingNames.map((setting) => setting.replaceAll('_', '-')),
    ]
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([])
  })
  test('refuses a word too many', async () => {
    const { code, noted } = await run([name, ...command.words.map(() => 'x'), 'stray'])
    expect(code).toBe(2)
    expect(noted).toContain(`usage: countersign ${name}`)
  })
  test('refuses settings that there are not', async () => {
    const words = command.words
      .map((word) => (word === '<file>' || word === '<key_id>' ? 'x' : ''))
      .filter((word) => word !== '')
    const { code, noted } = await run([name, ...words, '--colour', 'red'])
    expect(code).toBe(2)
    expect(noted).toContain('--colour is not a setting')
  })
})

test('a word that is needed is asked for', async () => {
  for (const name of ['backup', 'restore', 'delete-operator-key']) expect((await run([name])).code).toBe(2)
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
  expect(JSON.parse(said)).toMatchObject({ baseUrl: 'https://id.example' })
})
