import { createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { type PostgresServer, startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { addIssuer, createClient, type Issuer } from '../process/client.ts'
import { readOutside } from '../process/outside-log.ts'
import {
  cleanUp,
  createHome,
  furnish,
  pause,
  runCommand,
  type ServiceHome,
  type ServiceProcess,
  startService,
} from '../process/service-process.ts'

const TEST_MS_MAX = 300_000
/** B_node of the contract: how long a revocation may take to every worker. */
const NODE_BOUND_MS = 2000

let server: PostgresServer
let home: ServiceHome
let dev: DevFile
beforeAll(async () => {
  server = await startPostgres()
  home = await createHome({ databaseUrl: await server.createTables() })
  dev = await furnish(home)
}, TEST_MS_MAX)
afterEach(cleanUp)
afterAll(() => server?.stop())

/**
 * A service of two workers. Every call of its client is a connection of its own, which the system
 * gives to one of the workers.
 */
interface Workers {
  readonly primary: ServiceProcess
  readonly issuer: Issuer
  /** Of the workers that have said that they serve, the first one first. */
  pids(): readonly number[]
  show(header: string): Promise<number>
  /** What a worker has counted, of its first place and its second. */
  counted(metric: string): Promise<readonly number[]>
  revokeUser(ppid: string): Promise<number>
}

/** Ports that were free a moment ago may be taken by another test: then it tries others. */
async function startPrimary(triesLeft = 5): Promise<{ primary: ServiceProcess; adminPort: number }> {
  const adminPort = await twoFreePorts()
  const env = {
    COUNTERSIGN_WORKERS: '2',
    COUNTERSIGN_ADMIN_PORT: String(adminPort),
    COUNTERSIGN_LOG_LEVEL: 'info',
  }
  try {
    return { primary: await startService(home, { env }), adminPort }
  } catch (error) {
    if (triesLeft === 0 || !String(error).includes('EADDRINUSE')) throw error
    return startPrimary(triesLeft - 1)
  }
}

async function startWorkers(): Promise<Workers> {
  const { primary, adminPort } = await startPrimary()
  const pids = () =>
    [...primary.output().matchAll(/"pid":(\d+)[^\n]*"serving"/g)].map(([, pid]) => Number(pid))
  await expect.poll(() => pids().length).toBe(2)
  const client = createClient(primary.url, dev)
  const close = { Connection: 'close' }
  const show: Workers['show'] = async (header) =>
    (
      await client.ask('POST', '/api/protected/action', {
        headers: { ...close, 'X-Service-Credential': header },
      })
    ).status
  const issuer = await addIssuer(client, dev)
  const { header } = await issuer.issue()
  // Until all of them have heard of the issuer.
  for (let inTurn = 0; inTurn < 20; ) inTurn = (await show(header)) === 200 ? inTurn + 1 : 0
  return {
    primary,
    issuer,
    pids,
    show,
    counted: (metric) =>
      Promise.all(
        [0, 1].map(async (place) => {
          const text = await (
            await fetch(`http://127.0.0.1:${adminPort + place}/metrics`, { headers: close })
          ).text()
          return Number(
            text
              .split('\n')
              .find((line) => line.startsWith(metric))
              ?.split(' ')
              .at(-1) ?? 0,
          )
        }),
      ),
    revokeUser: async (ppid) => (await client.revokeUser(ppid, close)).status,
  }
}

async function twoFreePorts(): Promise<number> {
  for (;;) {
    const first = createServer()
    const port = await new Promise<number>((resolve) =>
      first.listen(0, '127.0.0.1', () => resolve((first.address() as { port: number }).port)),
    )
    const second = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      second.once('error', () => resolve(false))
      second.listen(port + 1, '127.0.0.1', () => resolve(true))
    })
    await Promise.all([first, second].map((each) => new Promise((resolve) => each.close(resolve))))
    if (isFree) return port
  }
}

const SHOWN = 'countersign_requests_total{endpoint="protected_action",status="200"}'
const REVOKED = 'countersign_problems_total{endpoint="protected_action",code="credential_revoked"}'

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const gone = (pids: readonly number[]) => expect.poll(() => pids.filter(isAlive)).toEqual([])

describe('two workers on one port', () => {
  test('both serve, and what one has revoked the other refuses within two seconds (I-2)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { issuer, show, counted, revokeUser } = await startWorkers()
    const { header, ppid } = await issuer.issue()
    for (const count of await counted(SHOWN)) expect(count).toBeGreaterThan(0)

    expect(await revokeUser(ppid)).toBe(200)
    const acknowledgedMs = performance.now()
    const late: number[] = []
    while ((await counted(REVOKED)).some((count) => count < 3)) {
      const askedMs = performance.now() - acknowledgedMs
      if ((await show(header)) === 200 && askedMs > NODE_BOUND_MS) late.push(askedMs)
      expect(askedMs).toBeLessThan(120_000)
    }
    expect(late).toEqual([])
    for (let i = 0; i < 10; i++) expect(await show(header)).toBe(401)
  })

  test('one that is killed is replaced, and the other goes on meanwhile', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { primary, issuer, pids, show, counted, revokeUser } = await startWorkers()
    const [living, revoked] = [await issuer.issue(), await issuer.issue()]
    const [first = 0, second = 0] = pids()
    process.kill(first, 'SIGKILL')
    const answers = new Set<number>()
    let cutOff = 0
    while (pids().length < 3) {
      try {
        answers.add(await show(living.header))
      } catch {
        cutOff++ // Handed to the worker that was just killed.
      }
      await pause(20)
    }
    expect([...answers]).toEqual([200])
    expect(cutOff).toBeLessThan(5)
    expect(await revokeUser(revoked.ppid)).toBe(200)
    expect(primary.output()).toMatch(
      new RegExp(`"pid":${first}.*"signal":"SIGKILL".*a worker has ended; starting another`),
    )
    expect([isAlive(second), isAlive(pids()[2] ?? 0)]).toEqual([true, true])
    // The new one took the place of the old one, and its port for metrics.
    await expect
      .poll(async () => (await show(living.header), Math.min(...(await counted(SHOWN)))))
      .toBeGreaterThan(0)
    expect((await readOutside(home)).faults).toEqual([])
  })

  test.each([
    ['the primary alone is told', () => []],
    ['all are told, as supervisors and terminals do', (pids: readonly number[]) => pids],
  ])(
    'end with 0 after what was running has been answered, when %s',
    { tags: 'long', timeout: TEST_MS_MAX },
    async (_, also) => {
      const { primary, issuer, pids, show } = await startWorkers()
      const { header } = await issuer.issue()
      const answers = [...Array(20)].map(() => show(header).catch(() => 'refused'))
      await Promise.race(answers)
      for (const pid of [...also(pids()), primary.pid, ...also(pids())]) process.kill(pid, 'SIGTERM')
      expect(await primary.ended).toBe(0)
      await gone(pids())
      expect((await Promise.all(answers)).filter((answer) => answer !== 200 && answer !== 'refused')).toEqual(
        [],
      )
      expect(primary.output().match(/"stopped"/g)).toHaveLength(2)
    },
  )

  test('do not share their port with another service, and do not outlive their primary', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { primary, pids } = await startWorkers()
    const second = await runCommand(home, [
      'serve',
      '--workers',
      '2',
      '--admin-port',
      'off',
      '--port',
      String(home.port),
    ])
    expect([second.code, second.said]).toEqual([1, expect.stringContaining('EADDRINUSE')])
    await primary.kill('SIGKILL')
    await gone(pids())
  })
})

describe('workers that cannot be', () => {
  test('are refused on SQLite, before anything is made', { tags: 'long', timeout: TEST_MS_MAX }, async () => {
    const { code, noted } = await runCommand(await createHome(), ['serve', '--workers', '2'])
    expect([code, noted.trim()]).toEqual([
      2,
      'These settings are invalid:\n  - workers above 1 need PostgreSQL: set database_url',
    ])
  })

  test('end the service with 1 when none can start, instead of trying without end', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const other = { ...home, masterKey: 'ab'.repeat(16) + 'cd'.repeat(16) }
    const { code, said } = await runCommand(other, [
      'serve',
      '--workers',
      '2',
      '--admin-port',
      'off',
      '--port',
      String(home.port),
    ])
    expect(code).toBe(1)
    expect(said).toContain('sealed under another master key')
    expect(said).toContain('a worker could not start')
  })
})
