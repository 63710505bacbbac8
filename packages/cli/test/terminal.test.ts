import { spawn, spawnSync } from 'node:child_process'
import { createGuard } from '@countersign/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownEnvironment, program } from './countersign.ts'
import { type Home, openHome } from './home.ts'

const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0
if (!hasTerminal)
  console.warn(
    '\nSKIPPED: what the command does on a terminal is not tested here, for script (util-linux) is not installed.\n',
  )

let home: Home
beforeAll(async () => {
  if (hasTerminal) home = await openHome()
})
afterAll(() => home?.close())

interface Seen {
  readonly code: number | null
  /** All that came to the terminal, with its control characters. */
  readonly text: string
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

/** Runs the command on a terminal of its own. `answer` is typed when a question is asked. */
function onTerminal(
  argv: readonly string[],
  { answer, env = {} }: { answer?: string; env?: Record<string, string> } = {},
): Promise<Seen> {
  const command = [process.execPath, ...program, ...argv].map(quoted).join(' ')
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: home.directory,
    env: { ...ownEnvironment(), TERM: 'xterm-256color', COLUMNS: '120', ...env },
  })
  let text = ''
  child.stdout.on('data', (bytes: Buffer) => {
    const isAsked = !text.includes('[y/N]') && (text += bytes).includes('[y/N]')
    if (isAsked && answer !== undefined) child.stdin.write(`${answer}\n`)
    else if (!isAsked && text.includes('[y/N]')) text += bytes
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, text })))
}

const RED = '\u001b[31m'
const CLEAR_LINE = '\r\u001b[K'

describe.skipIf(!hasTerminal)('on a terminal', () => {
  let users = 0
  const newUser = () => `did:service:ppid_terminal-${++users}`
  const isRevoked = async (ppid: string) =>
    (await home.run(['reinstate', ppid, '--json'])).json().already_active === false

  test('what takes access away is asked for, and not done after a no, or nothing', {
    tags: 'long',
  }, async () => {
    for (const answer of ['n', '', 'yess']) {
      const ppid = newUser()
      const { code, text } = await onTerminal(['revoke-user', ppid], { answer })
      expect(text).toContain(`Really revoke the access of ${ppid} at demo.localhost? [y/N]`)
      expect(text).toContain('Nothing was changed.')
      expect(code).toBe(1)
      expect(await isRevoked(ppid)).toBe(false)
    }
  })
  test('it is done after a yes, with what is known said before', { tags: 'long' }, async () => {
    const ppid = newUser()
    const { code, text } = await onTerminal(['revoke-user', ppid], { answer: 'y' })
    expect(code).toBe(0)
    expect(text).toContain('0 known active credentials, 0 live tokens.')
    expect(await isRevoked(ppid)).toBe(true)
  })
  test('with --no-input nothing is asked, and nothing done', { tags: 'long' }, async () => {
    const { code, text } = await onTerminal(['revoke-user', newUser(), '--no-input'])
    expect(code).toBe(2)
    expect(text).not.toContain('[y/N]')
  })
  test('the receipt is drawn as it grows, over itself', { tags: 'long' }, async () => {
    const { base_url, site_id, site_key } = home.dev
    const guards = ['one', 'two'].map((verifierId) =>
      createGuard({ baseUrl: base_url, siteId: site_id, apiKey: site_key, verifierId }),
    )
    await Promise.all(guards.map((guard) => guard.ready()))
    const { code, text } = await onTerminal(['revoke-user', newUser(), '--yes', '--wait', '10'])
    await Promise.all(guards.map((guard) => guard.close()))
    expect(code).toBe(0)
    expect(text).toMatch(/\d of 2 verifiers, \d+ ms\r\u001b\[K/)
    expect(text).toMatch(/applied by +2 of 2 verifiers, \d+ ms/)
  })
  test('long work shows how far it is; elsewhere it does not', { tags: 'long' }, async () => {
    const argv = ['bench', '--seconds', '1', '--connections', '1', '--path', '/healthz']
    expect((await onTerminal(argv)).text).toMatch(/\[█+·*\] \d+ requests/)
    const { out, err } = await home.run(argv)
    expect(out + err).not.toContain(CLEAR_LINE)
    expect((await onTerminal([...argv, '--json'])).text).not.toContain(CLEAR_LINE)
    expect((await onTerminal(['audit-log'])).text).toMatch(
      /\[█+\] \d+ of \d+ entries\r\u001b\[KThe log is intact/,
    )
    expect((await home.run(['audit-log'])).err).toBe('')
  })
  test('colours are shown, unless they are not wanted', async () => {
    expect((await onTerminal(['sites', 'paint'])).text).toContain(RED)
    expect((await onTerminal(['sites', 'paint', '--no-color'])).text).not.toContain('\u001b[')
    expect((await onTerminal(['sites', 'paint'], { env: { NO_COLOR: '1' } })).text).not.toContain('\u001b[')
    expect((await home.run(['sites', 'paint'])).err).not.toContain('\u001b[')
  })
})
