import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { quote, toCli, toCurl } from '../packages/console/src/api/command.ts'
import { doors, toTypedCommand } from '../packages/console/src/api/doors.ts'

/** What a POSIX shell makes of the words of a command, without running it. */
function splitInShell(command: string, env: Readonly<Record<string, string>> = {}): readonly string[] {
  const script = `printf '%s\\0' ${command}`
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env: { ...env } })
  expect(status, stderr).toBe(0)
  return stdout.split('\0').slice(0, -1)
}

const NASTY = [
  '',
  ' ',
  "'",
  "''",
  '"',
  '\\',
  "\\'",
  '$HOME',
  '$(id)',
  '`id`',
  '!!',
  '!"#$%&()*+,;<=>?@[]^_`{|}~',
  '-n',
  '--yes',
  '~',
  '~root',
  '#no comment',
  'a\nb',
  'a\tb',
  '\r\n',
  'ends with a newline\n',
  'ä 日本語 🙂',
  '\u202e',
  '*',
  '?',
  '[a-z]',
  '{a,b}',
  '%s%n',
  '\\n',
  "it's",
  '&&',
  '|',
  ';',
  '\u00a0',
  '=ls',
  '\x15id\r',
  '\x1b[201~id\n',
  '\x9b201~',
  '\x7f',
]

/** No text of the service has one; a terminal would act on it. */
const withoutControls = (text: string) => text.replaceAll(/\p{Cc}/gu, '\ufffd')

/** The same texts at every run. */
function* createTexts(count: number): Generator<string> {
  let state = 20261116
  const next = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const pieces = [...NASTY, 'a', 'B', '7', '.', ':', '/', '=', 'é']
  for (let n = 0; n < count; n++)
    yield Array.from({ length: next(8) }, () => pieces[next(pieces.length)]).join('')
}

describe('words for a POSIX shell', () => {
  test('are read as exactly their text, also if it is nasty', () => {
    const texts = [...NASTY, ...createTexts(2000)]
    for (let i = 0; i < texts.length; i += 200) {
      const some = texts.slice(i, i + 200)
      expect(splitInShell(some.map(quote).join(' '))).toEqual(some.map(withoutControls))
    }
  })

  test('are left bare when they are harmless', () => {
    for (const text of ['shop.example', 'key_01k9', 'did:web:a.example', 'https://a.example/b'])
      expect(quote(text)).toBe(text)
  })
})

describe('a command of the command line', () => {
  test('carries each option with exactly its value', { tags: 'long' }, () => {
    for (const text of [...NASTY, ...createTexts(200)]) {
      const words = splitInShell(
        toCli(['keys', 'rename', 'key_1', text], { site: 'a.example', reason: text }),
      )
      const word = withoutControls(text)
      const isOption = text.startsWith('-')
      expect(words).toEqual([
        ...['countersign', 'keys', 'rename', 'key_1', ...(isOption ? [] : [word])],
        ...['--site', 'a.example', ...(isOption ? [`--reason=${word}`] : ['--reason', word])],
        // What follows is no option.
        ...(isOption ? ['--', word] : []),
      ])
    }
  })

  test('repeats lists, and leaves out what is not set', () => {
    expect(toCli(['x'], { scope: ['a', 'b'], label: undefined, yes: true, all: false })).toBe(
      'countersign x --scope a --scope b --yes',
    )
  })
})

test('A367: no page puts a text into a command by itself, without quotes', () => {
  const folder = join(import.meta.dirname, '../packages/console/src')
  const bare = /(?:text|cli|command)[=:] ?\{?`countersign [^`]*\$\{|=>\s*`countersign [^`]*\$\{/
  const files = globSync('**/*.tsx', { cwd: folder })
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((file) => bare.test(readFileSync(join(folder, file), 'utf8')))).toEqual([])
  // Control arms: what there was.
  const value = ['$', '{siteId}'].join('')
  for (const found of [
    `<Command text={\`countersign drill --site ${value}\`} />`,
    `command: \`countersign issue --site ${value} --user-ref alice\`,`,
    `toCli={({ status }) =>\n  \`countersign users list --site ${value}\`\n}`,
  ])
    expect(bare.test(found)).toBe(true)
})

describe('a call as curl', () => {
  test('sends the same method, address, headers and body', { tags: 'long' }, () => {
    for (const text of [...NASTY, ...createTexts(200)]) {
      const request = {
        method: 'POST',
        path: '/api/sites/a.example/keys',
        query: { target: text, cursor: undefined },
        body: { label: text, reason: text },
        waitSeconds: 5,
      } as const
      const words = splitInShell(toCurl(request, 'https://id.example'), { COUNTERSIGN_KEY: 'svc_sk_1' })
      const url = `https://id.example/api/sites/a.example/keys?${new URLSearchParams({ target: text })}`
      expect(words).toEqual([
        ...['curl', '-sS', '-X', 'POST', url],
        ...['-H', 'X-API-Key: svc_sk_1'],
        ...['-H', 'Prefer: wait=5'],
        ...['-H', 'Content-Type: application/json'],
        ...['--data-raw', withoutControls(JSON.stringify(request.body))],
      ])
    }
  })

  test('has the reason of a DELETE in its header, percent-encoded', () => {
    const request = { method: 'DELETE', path: '/api/x', reason: "it's ä" } as const
    expect(splitInShell(toCurl(request, 'http://localhost:1'))).toContain("X-Reason: it's%20%C3%A4")
  })

  test('never contains a key', () => {
    expect(toCurl({ path: '/api/sites' }, 'http://localhost:1')).toBe(
      'curl -sS http://localhost:1/api/sites \\\n  -H "X-API-Key: $COUNTERSIGN_KEY"',
    )
  })
})

describe('a command as it is typed', () => {
  const command = toCli(['revoke-user', 'countersign '], { site: 'shop.example' })
  test('begins with countersign until the service has said something else', () => {
    doors.value = undefined
    expect(toTypedCommand(command)).toBe(command)
  })
  test('begins with what the service says, and is otherwise the same', () => {
    const command_line = "COUNTERSIGN_DATA_DIR='/tmp/$&' npm run -s countersign --"
    doors.value = { passkey: false, oidc: null, has_session: false, command_line }
    expect(toTypedCommand(command)).toBe(`${command_line} revoke-user 'countersign ' --site shop.example`)
    doors.value = undefined
  })
})
