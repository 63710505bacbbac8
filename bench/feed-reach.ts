import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './measure.ts'
import { type Listeners, type ServerProcess, startListeners, startLoad, startServer } from './processes.ts'
import { required, type Sample, SITE } from './sample.ts'
import { syncedAppends } from './service-durable.ts'
import { post, toIssuer } from './service-http.ts'
import { atMost, type Verdict } from './verdict.ts'

/** How soon every listener has heard of a revocation. */
export interface ReachRow {
  readonly name: string
  /** 0 for what has no clients. */
  readonly clients: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Of the server, for one connection more. */
  readonly bytesPerClient: number | undefined
}

export interface BenchReachOptions {
  readonly directory: string
  readonly onProgress: (what: string, done: number, all: number) => void
  readonly crowds?: readonly number[]
  readonly rounds?: number
}

const CROWDS = [1, 100, 1000, 5000]
const ROUNDS = 101
/** As the contract has it. */
const CONNECTIONS_PER_KEY = 1000
const SETTLE_MS = 600
/** Between two revocations. */
const PAUSE_MS = 20
const WARM_UP = {
  clients: 200,
  rounds: 100,
  /** Without clients: after so many, V8 has compiled what commits them. */
  revocations: 3000,
  /** Until it has signed the receipts of these revocations. */
  settleMs: 5000,
}
const SAMPLE = 'sample'

/**
 * From the request that revokes, with its commit on disk, to the bytes at the last of so many
 * clients; beside it the floor: the same bytes written to as many plain sockets when one of them
 * says so. The two take turns, and one process listens to both.
 */
export async function benchReach(
  sample: Sample,
  options: BenchReachOptions,
): Promise<{ rows: ReachRow[]; verdicts: Verdict[] }> {
  const { crowds = CROWDS, onProgress } = options
  const syncs = await syncedAppends(options.directory, ROUNDS, PAUSE_MS)
  const sync = toReachRow('append and fdatasync, after the same pauses', 0, syncs, undefined)
  const rows: ReachRow[] = [sync]
  for (const [index, clients] of crowds.entries()) {
    onProgress('crowds that hear of revocations', index, crowds.length)
    rows.push(...(await benchCrowd(sample, clients, options)))
  }
  onProgress('crowds that hear of revocations', crowds.length, crowds.length)
  return { rows, verdicts: verdictsOn(rows, sync.p50Ms) }
}

/** In processes of their own: what a smaller crowd left behind would be counted as saved. */
async function benchCrowd(
  sample: Sample,
  clients: number,
  { directory, rounds = ROUNDS }: BenchReachOptions,
): Promise<ReachRow[]> {
  const ours = await startServer('ours', {
    dataDir: join(directory, `reach-${clients}`),
    issuer: toIssuer(sample),
  })
  const plain = await startServer('sockets', {})
  const listeners = await startListeners()
  try {
    const keys = await createKeys(ours, Math.ceil(clients / CONNECTIONS_PER_KEY))
    // Before the others listen: the crowd takes all the connections a key may have.
    const chunk = await readRevocationChunk(ours, required(keys[0]), SAMPLE)
    const connect = {
      ours: async (count: number) => {
        const openings = Array.from({ length: count }, (_, n) =>
          feedRequest(ours, required(keys[Math.floor(n / CONNECTIONS_PER_KEY)]), n),
        )
        await listeners.listen('ours', { port: ours.ready.port, openings, greeting: 'event: heartbeat' })
      },
      plain: async (count: number) =>
        listeners.listen('plain', {
          port: plain.ready.port,
          openings: Array<string>(count).fill('L'),
          greeting: 'listening',
        }),
    }
    const leave = async () => {
      for (const group of ['ours', 'plain'] as const) await listeners.leave(group)
      await sleep(SETTLE_MS)
    }
    for (const group of ['ours', 'plain'] as const) await connect[group](WARM_UP.clients)
    await leave()
    // Before the warm-up: what it has left behind would be counted as saved.
    const ofOurs = await bytesEach(ours, clients, connect.ours)
    const ofPlain = await bytesEach(plain, clients, connect.plain)
    await leave()
    const parties = { ours, plain, listeners, key: required(keys[0]), chunk }
    await revokeMany(ours, parties.key)
    for (const group of ['ours', 'plain'] as const) await connect[group](WARM_UP.clients)
    await takeTurns(parties, WARM_UP)
    await leave()
    await sleep(WARM_UP.settleMs)
    for (const group of ['ours', 'plain'] as const) await connect[group](clients)
    await sleep(SETTLE_MS)
    const heard = await takeTurns(parties, { clients, rounds })
    return [
      toReachRow('ours, revoke → heard', clients, heard.ours, ofOurs),
      toReachRow('plain sockets', clients, heard.plain, ofPlain),
    ]
  } finally {
    await listeners.stop()
    await plain.stop()
    await ours.stop()
  }
}

/** Revokes users by one connection, one after the other. */
async function revokeMany(ours: ServerProcess<'ours'>, key: string): Promise<void> {
  const load = await startLoad()
  try {
    const requests = Array.from({ length: WARM_UP.revocations }, (_, n) =>
      toRevocation(ours, key, `many${n}`),
    )
    const target = await load.target({ port: ours.ready.port, connections: 1, requests, once: true })
    await target.run(requests.length)
  } finally {
    await load.stop()
  }
}

interface Parties {
  readonly ours: ServerProcess<'ours'>
  readonly plain: ServerProcess<'sockets'>
  readonly listeners: Listeners
  readonly key: string
  /** What one client of ours is sent for the revocation of `SAMPLE`. */
  readonly chunk: string
}

async function takeTurns(
  { ours, plain, listeners, key, chunk }: Parties,
  { clients, rounds }: { readonly clients: number; readonly rounds: number },
): Promise<{ ours: number[]; plain: number[] }> {
  const heard = { ours: [] as number[], plain: [] as number[] }
  for (let round = 0; round <= rounds; round++) {
    const name = `${clients}x${round}of${rounds}`
    const mark = toMarkPpid(name)
    const text = toRevocation(ours, key, name)
    const ofOurs = await listeners.tell('ours', { port: ours.ready.port, text, mark })
    const ofPlain = await listeners.tell('plain', {
      port: plain.ready.port,
      text: chunk.replace(toMarkPpid(SAMPLE), mark),
      mark,
    })
    // The first is to warm up.
    if (round > 0) {
      heard.ours.push(...ofOurs)
      heard.plain.push(...ofPlain)
    }
    await sleep(PAUSE_MS)
  }
  return heard
}

function toRevocation(ours: ServerProcess<'ours'>, key: string, name: string): string {
  const body = JSON.stringify({ ppid: toMarkPpid(name), site_id: SITE })
  return post(ours, '/api/wallet/revoke-user', `X-API-Key: ${key}\r\n`, body)
}

/** What one client is sent for one revocation. */
async function readRevocationChunk(ours: ServerProcess<'ours'>, key: string, name: string): Promise<string> {
  const socket = createConnection({ port: ours.ready.port, host: '127.0.0.1' })
  let read = ''
  socket.on('data', (chunk) => {
    read += chunk.toString('latin1')
  })
  socket.write(feedRequest(ours, key, 0, 'chunk'))
  await until(() => read.includes('event: heartbeat'))
  await sleep(100)
  read = ''
  const answer = await fetch(`http://127.0.0.1:${ours.ready.port}/api/wallet/revoke-user`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ ppid: toMarkPpid(name), site_id: SITE }),
  })
  if (answer.status !== 200)
    throw new Error(`a revocation was answered with ${answer.status}: ${await answer.text()}`)
  await until(() => read.includes(toMarkPpid(name)))
  await sleep(100)
  socket.destroy()
  return read
}

function feedRequest({ ready }: ServerProcess<'ours'>, key: string, n: number, name = 'bench'): string {
  const headers = `X-API-Key: ${key}\r\nX-Verifier-Id: ${name}-${n}\r\nFeed-Version: 1\r\nAccept: text/event-stream\r\n`
  return `GET /api/sites/${SITE}/feed HTTP/1.1\r\nHost: 127.0.0.1:${ready.port}\r\n${headers}\r\n`
}

function toMarkPpid(name: string): string {
  return `did:service:ppid_${name.padStart(52, '0')}`
}

async function createKeys(ours: ServerProcess<'ours'>, count: number): Promise<string[]> {
  const keys = [ours.ready.apiKey]
  while (keys.length < count) {
    const answer = await fetch(`http://127.0.0.1:${ours.ready.port}/api/sites/${SITE}/keys`, {
      method: 'POST',
      headers: { 'x-api-key': ours.ready.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ permissions: ['feed:read'] }),
    })
    keys.push(required(((await answer.json()) as { api_key?: string }).api_key))
  }
  return keys
}

/**
 * What the server has grown by, for each of so many. Too few would only show what else it does.
 * Without the young generation: V8 fills it with any new objects up to its fixed size, and it is
 * empty after a collection.
 */
async function bytesEach(
  server: ServerProcess,
  clients: number,
  connect: (count: number) => Promise<void>,
): Promise<number | undefined> {
  const measureBytes = async () => {
    const { rssBytes, youngBytes } = await server.usage('collected')
    return rssBytes - youngBytes
  }
  const before = await measureBytes()
  await connect(clients)
  await sleep(SETTLE_MS)
  const grownBy = (await measureBytes()) - before
  return clients >= 1000 ? grownBy / clients : undefined
}

function toReachRow(
  name: string,
  clients: number,
  heardMs: readonly number[],
  bytesPerClient: number | undefined,
): ReachRow {
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((part) => quantile(heardMs, part))
  return {
    name,
    clients,
    p50Ms: required(p50Ms),
    p99Ms: required(p99Ms),
    maxMs: required(maxMs),
    bytesPerClient,
  }
}

/** `syncMs`: what one small append with its sync takes there, after pauses as long. */
function verdictsOn(rows: readonly ReachRow[], syncMs: number): Verdict[] {
  const found = (name: string, clients: number) =>
    rows.find((row) => row.name === name && row.clients === clients)
  const one = found('ours, revoke → heard', 1)
  const ofOne =
    one === undefined
      ? []
      : [atMost('a revocation reaches 1 client, p50 ≤ 2 ms beyond the sync', 2, one.p50Ms - syncMs)]
  const ofMany = [1000, 5000].flatMap((clients) => {
    const [ours, plain] = [found('ours, revoke → heard', clients), found('plain sockets', clients)]
    if (ours === undefined || plain === undefined) return []
    return [
      atMost(
        `${clients} clients hear of a revocation, p99 ≤ 1.15 × plain sockets`,
        1.15,
        ours.p99Ms / plain.p99Ms,
      ),
      atMost(
        `${clients} clients, ≤ 16 KB each on the server`,
        16,
        (ours.bytesPerClient ?? Number.NaN) / 1000,
      ),
    ]
  })
  return [...ofOne, ...ofMany]
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 500) throw new Error('the feed did not say what was expected')
    await sleep(20)
  }
}
