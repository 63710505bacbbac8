import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../packages/service/test/store/postgres-server.ts'

/** The commands of docs/operating.md as they stand, with other places and another port. */
const text = readFileSync(join(import.meta.dirname, '../docs/operating.md'), 'utf8')
const lines = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) => block.trim().split('\n'))
const findLine = (begin: string): string => {
  const found = lines.find((line) => line.startsWith(begin))
  if (found === undefined) throw new Error(`docs/operating.md has no line that begins with ${begin}`)
  return found
}

const directory = mkdtempSync(join(tmpdir(), 'countersign-operating-'))
const home = join(directory, 'srv')
const MAIN = process.env.TEST_MAIN ?? join(import.meta.dirname, '../packages/cli/src/main.ts')
const COUNTERSIGN = `countersign() { '${process.execPath}' --conditions=countersign-source --no-warnings '${MAIN}' "$@"; }`
let port: number
beforeAll(async () => {
  port = await freePort()
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

interface Ran {
  readonly code: number
  readonly said: string
  readonly noted: string
}

const here = (line: string) =>
  line
    .replaceAll('/srv/countersign', home)
    .replaceAll('/etc/countersign', join(home, 'data'))
    .replaceAll('127.0.0.1:8787', `127.0.0.1:${port}`)
const env = {
  PATH: process.env.PATH,
  COUNTERSIGN_PORT: String(0),
  COUNTERSIGN_CONFIG: join(home, 'countersign.json'),
}

/** Runs one line, as a person who pastes it. */
async function paste(line: string): Promise<Ran> {
  const script = `${COUNTERSIGN}\n${here(line)}`
  try {
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd: directory, env })
    return { code: 0, said: stdout, noted: stderr }
  } catch (fault) {
    const { code, stdout, stderr } = fault as { code: number; stdout: string; stderr: string }
    return { code, said: stdout, noted: stderr }
  }
}

/** Runs `countersign serve …` until `work` is done, and gives its exit code. */
async function serving(work: () => Promise<void>): Promise<number | null> {
  const argv = here(findLine('countersign serve --config'))
    .replace(/ {2,}#.*$/, '')
    .split(' ')
    .slice(1)
  const child = spawn(process.execPath, ['--conditions=countersign-source', '--no-warnings', MAIN, ...argv], {
    cwd: directory,
    env: { PATH: process.env.PATH, COUNTERSIGN_PORT: String(port), COUNTERSIGN_ADMIN_PORT: 'off' },
    stdio: 'ignore',
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  try {
    await expect
      .poll(() => fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status, String))
      .toBe(200)
    await work()
  } finally {
    child.kill('SIGTERM')
  }
  return ended
}

test('the commands of docs/operating.md do what is written there, one after the other', {
  tags: 'long',
}, async () => {
  const { COUNTERSIGN_CONFIG: _, ...first } = env
  const made = await promisify(execFile)(
    'bash',
    ['-c', `${COUNTERSIGN}\n${here(findLine('countersign init'))}`],
    {
      cwd: directory,
      env: first,
    },
  )
  expect(made.stdout).toContain('countersign serve --config')
  for (const file of ['countersign.json', 'operator.key', 'data/master.key'])
    expect(statSync(join(home, file)).mode & 0o777).toBe(0o600)

  const file = join(home, 'countersign.json')
  const [, retention = ''] = /^```json\n(.*?)^```/ms.exec(text) ?? []
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...JSON.parse(here(retention)) }),
  )

  const code = await serving(async () => {
    expect(await paste(findLine("(umask 077; sed 's/^/X-API-Key"))).toMatchObject({ code: 0 })
    expect(JSON.parse((await paste(findLine('curl -s -X POST'))).said)).toMatchObject({
      site_id: 'shop.example',
      bearer: 'on',
    })
    expect((await paste('countersign operator-keys')).said).toMatch(/^key_\S+ {2}…\w{4}/m)
    expect(await paste('countersign backup monday.db')).toMatchObject({
      code: 0,
      said: expect.stringContaining('2 entries of 1 site'),
    })
    expect(await paste('countersign audit-log monday.db')).toMatchObject({
      code: 0,
      said: expect.stringContaining('The log is intact'),
    })
    expect(await paste('countersign restore monday.db --yes')).toMatchObject({
      code: 1,
      noted: expect.stringContaining('stop it first'),
    })
  })
  expect(code).toBe(0)

  expect(await paste(findLine('countersign verify-audit-archive'))).toMatchObject({
    code: 0,
    said: 'There are no archives.\n',
  })
  expect(await paste(findLine('countersign cut-log --dry-run'))).toMatchObject({ code: 0 })
  expect(await paste(findLine('countersign reset-time   '))).toMatchObject({
    code: 0,
    said: expect.stringContaining('The time on record is'),
  })
  expect(await paste(findLine('countersign reset-time --yes'))).toMatchObject({ code: 0 })
  expect(await paste(findLine('countersign accept-rollback   '))).toMatchObject({
    code: 0,
    said: expect.stringContaining('Nothing is missing.'),
  })
  expect(await paste(findLine('countersign accept-rollback --yes'))).toMatchObject({
    code: 0,
    said: expect.stringContaining('There is nothing to accept.'),
  })
  expect(await paste('countersign rotate-issuer-key')).toMatchObject({
    code: 0,
    said: expect.stringContaining('signing in 60 seconds'),
  })
  expect(await paste('countersign restore monday.db --yes')).toMatchObject({
    code: 0,
    said: expect.stringContaining('2 entries of 1 site'),
  })

  const old = readFileSync(join(home, 'data/master.key'), 'utf8')
  for (const begin of [
    '(umask 077; openssl rand -hex 32 > new.key)',
    'COUNTERSIGN_MASTER_KEY_NEW_FILE=',
    'mv new.key',
  ]) {
    expect(await paste(findLine(begin))).toMatchObject({ code: 0 })
  }
  expect(existsSync(join(directory, 'new.key'))).toBe(false)
  expect(readFileSync(join(home, 'data/master.key'), 'utf8')).not.toBe(old)
  expect(await serving(async () => {})).toBe(0)
  const audit = (await paste('countersign operator-audit')).said
  for (const action of ['api_key.create', 'log.begin_epoch', 'master_key.rotate'])
    expect(audit).toContain(`  ${action}  `)
})
