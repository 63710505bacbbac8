import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../measure.ts'
import { type ServerProcess, startLoad, startServer } from '../processes.ts'
import { SITE } from '../sample.ts'
import type { OursOptions } from '../servers/server.ts'
import { post } from '../service-http.ts'
import type { Cost } from './commands.ts'
import { fetchSnapshots, type SnapshotCost } from './snapshots.ts'

/** From the start of the process to readiness. */
export interface StartCost extends Cost {
  readonly rssMb: number
  /** Of the processor after readiness, until the service had nothing more to do. */
  readonly laterCpuSeconds: number
}

interface GuardCost extends Cost {
  readonly heldBytes: number
}

export interface ServiceCost {
  readonly start: StartCost
  /** What the service holds in memory. */
  readonly heldBytes: number
  readonly guard: GuardCost
  readonly snapshot: SnapshotCost
  readonly crowd: SnapshotCost
  readonly revokeMs: number
  readonly listMs: number
}

const IDLE_SHARE_MAX = 0.05
const IDLE_SECONDS_MAX = 1200
/** Within this time after a start, the service writes a checkpoint if it needs one. */
const CHECKPOINT_SECONDS = 20

/** Starts the service, waits until it has done what it does behind the requests, and stops it. */
export async function measureStart(options: OursOptions): Promise<StartCost> {
  const ours = await startServer('ours', options)
  const start = await settle(ours, CHECKPOINT_SECONDS)
  await ours.stop()
  return start
}

/** The cost of a start that has just ended. Waits until the service is idle. */
async function settle(ours: ServerProcess<'ours'>, secondsMin = 0): Promise<StartCost> {
  const { cpuUs, rssBytes } = await ours.usage()
  let last = cpuUs
  const mayEnd = (idle: number, seconds: number) => idle >= 2 && seconds >= secondsMin
  for (let idle = 0, seconds = 0; !mayEnd(idle, seconds) && seconds < IDLE_SECONDS_MAX; seconds++) {
    await sleep(1000)
    const now = (await ours.usage()).cpuUs
    idle = (now - last) / 1e6 < IDLE_SHARE_MAX ? idle + 1 : 0
    last = now
  }
  return {
    seconds: ours.startMs / 1000,
    cpuSeconds: cpuUs / 1e6,
    rssMb: rssBytes / 2 ** 20,
    laterCpuSeconds: (last - cpuUs) / 1e6,
  }
}

/** Starts the service again and measures what its verifiers and callers notice. */
export async function measureService(
  options: OursOptions,
  { verifiers, label }: { readonly verifiers: number; readonly label: string },
): Promise<ServiceCost> {
  const ours = await startServer('ours', options)
  try {
    const start = await settle(ours)
    const { heldBytes } = await ours.usage('collected')
    const snapshot = await fetchSnapshots(ours, 1)
    const crowd = await fetchSnapshots(ours, verifiers)
    const guard = await measureGuard(ours)
    const listMs = await measureList(ours)
    const revokeMs = await measureRevoke(ours, label)
    return { start, heldBytes, guard, snapshot, crowd, revokeMs, listMs }
  } finally {
    await ours.stop()
  }
}

/** The part of it that a cut of the log changes. */
export async function measureStartAndSnapshot(
  options: OursOptions,
): Promise<Pick<ServiceCost, 'start' | 'snapshot' | 'guard'>> {
  const ours = await startServer('ours', options)
  try {
    const start = await settle(ours)
    return { start, snapshot: await fetchSnapshots(ours, 1), guard: await measureGuard(ours) }
  } finally {
    await ours.stop()
  }
}

async function measureGuard({ ready }: ServerProcess<'ours'>): Promise<GuardCost> {
  const baseUrl = `http://127.0.0.1:${ready.port}`
  const guard = await startServer('guard', { baseUrl, siteId: SITE, apiKey: ready.apiKey })
  const { cpuUs } = await guard.usage()
  const { heldBytes } = await guard.usage('collected')
  await guard.stop()
  return { seconds: guard.ready.seconds, cpuSeconds: cpuUs / 1e6, heldBytes }
}

const REVOCATIONS = 400

/** The median time of a revocation, one after the other. No user was revoked before. */
async function measureRevoke(ours: ServerProcess<'ours'>, label: string): Promise<number> {
  const load = await startLoad()
  try {
    const key = `X-API-Key: ${ours.ready.apiKey}\r\n`
    const requests = Array.from({ length: REVOCATIONS }, (_, n) => {
      const ppid = `did:service:ppid_${`${label}x${n}`.padStart(52, '0')}`
      return post(ours, '/api/wallet/revoke-user', key, JSON.stringify({ ppid, site_id: SITE }))
    })
    const target = await load.target({ port: ours.ready.port, connections: 1, requests, once: true })
    await target.run(REVOCATIONS / 4)
    return (await target.run((REVOCATIONS * 3) / 4)).p50Ms
  } finally {
    await load.stop()
  }
}

const PAGES = 20

/** The median time of a page of revoked credentials, one page after the other. */
async function measureList({ ready }: ServerProcess<'ours'>): Promise<number> {
  const times: number[] = []
  let cursor = ''
  for (let page = 0; page < PAGES; page++) {
    const startedMs = performance.now()
    const query = `status=revoked&limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`
    const answer = await fetch(`http://127.0.0.1:${ready.port}/api/sites/${SITE}/credentials?${query}`, {
      headers: { 'x-api-key': ready.apiKey },
    })
    const body = (await answer.json()) as { next_cursor?: string | null }
    if (answer.status !== 200) throw new Error(`the list was answered with ${answer.status}`)
    times.push(performance.now() - startedMs)
    cursor = body.next_cursor ?? ''
    if (cursor === '') break
  }
  return quantile(times, 0.5)
}
