import { get } from 'node:http'
import { join } from 'node:path'
import { createGuard } from '@countersign/sdk'
import { quantile } from './measure.ts'
import { type ServerProcess, startServer } from './processes.ts'
import { type Sample, SITE } from './sample.ts'
import { toIssuer } from './service-http.ts'
import { revokeMany } from './service-start-up.ts'
import { atMost, type Verdict } from './verdict.ts'

/** From a guard that was just made to one that lets a good credential in. */
export interface SnapshotRow {
  readonly name: string
  readonly seconds: number
  /** Of the snapshot as it goes over the wire, compressed. */
  readonly wireMb: number
}

export interface BenchSnapshotOptions {
  readonly directory: string
  readonly onProgress: (what: string, done: number, all: number) => void
  readonly revocations?: number
}

const STARTS = 21
const MB = 1e6

/**
 * How soon a guard is ready on loopback: at a site where nothing was ever revoked, and at one with
 * a million revocations.
 */
export async function benchSnapshot(
  sample: Sample,
  options: BenchSnapshotOptions,
): Promise<{ rows: SnapshotRow[]; verdicts: Verdict[] }> {
  const { directory, onProgress, revocations = 1_000_000 } = options
  const dataDir = join(directory, 'snapshot')
  const issuer = toIssuer(sample)
  const empty = await startServer('ours', { dataDir, issuer })
  const starts: number[] = []
  for (let n = 0; n <= STARTS; n++) starts.push(await secondsToReady(empty))
  const emptyMb = await wireMb(empty)
  await empty.stop()
  onProgress('writing revocations', 0, revocations)
  await revokeMany(dataDir, revocations)
  const full = await startServer('ours', { dataDir, issuer })
  try {
    onProgress('loading revocations', 0, revocations)
    const fullMb = await wireMb(full)
    const loads = [await secondsToReady(full), await secondsToReady(full), await secondsToReady(full)]
    const rows = [
      // The first start also loads the code.
      { name: 'guard ready, no revocations', seconds: quantile(starts.slice(1), 0.5), wireMb: emptyMb },
      {
        name: `guard ready, ${revocations.toLocaleString('en')} revocations`,
        seconds: quantile(loads, 0.5),
        wireMb: fullMb,
      },
    ]
    return {
      rows,
      verdicts: [
        atMost('a guard is ready on loopback ≤ 200 ms', 200, quantile(starts.slice(1), 0.5) * 1000),
        atMost('a million revocations loaded ≤ 10 s', 10, quantile(loads, 0.5)),
        atMost('a million revocations ≤ 64 MB on the wire', 64, fullMb),
      ],
    }
  } finally {
    await full.stop()
  }
}

async function secondsToReady({ ready }: ServerProcess<'ours'>): Promise<number> {
  const startedMs = performance.now()
  const guard = createGuard({ baseUrl: `http://127.0.0.1:${ready.port}`, siteId: SITE, apiKey: ready.apiKey })
  await guard.ready()
  const seconds = (performance.now() - startedMs) / 1000
  await guard.close()
  return seconds
}

function wireMb({ ready }: ServerProcess<'ours'>): Promise<number> {
  const headers = { 'x-api-key': ready.apiKey, 'accept-encoding': 'gzip', 'feed-version': '1' }
  return new Promise((resolve, reject) => {
    get({ port: ready.port, host: '127.0.0.1', path: `/api/sites/${SITE}/snapshot`, headers }, (answer) => {
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      answer.on('end', () =>
        answer.statusCode === 200
          ? resolve(bytes / MB)
          : reject(new Error(`the snapshot: ${answer.statusCode}`)),
      )
    }).on('error', reject)
  })
}
