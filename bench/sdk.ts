import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { benchReach, type ReachRow } from './feed-reach.ts'
import { createSample } from './sample.ts'
import { benchAdapters } from './sdk-adapters.ts'
import { benchSnapshot, type SnapshotRow } from './sdk-snapshot.ts'
import { formatHttp } from './service-tables.ts'
import type { HttpRow } from './stage.ts'
import { formatNumber, formatTable } from './table.ts'
import type { Verdict } from './verdict.ts'

export interface SdkResult {
  readonly reach: readonly ReachRow[]
  readonly adapters: readonly HttpRow[]
  readonly snapshot: readonly SnapshotRow[]
  readonly verdicts: readonly Verdict[]
}

const PARTS = ['reach', 'adapters', 'snapshot'] as const
export type SdkPart = (typeof PARTS)[number]

export interface BenchSdkOptions {
  readonly parts?: readonly SdkPart[]
  readonly onProgress?: (what: string, done: number, all: number) => void
}

/**
 * Verifiers away from the service: how soon they hear of a revocation, what they cost a route, how
 * soon they are ready.
 */
export async function benchSdk({
  parts = PARTS,
  onProgress = () => {},
}: BenchSdkOptions = {}): Promise<SdkResult> {
  const sample = await createSample(Date.now())
  const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  try {
    const nothing = { rows: [], verdicts: [] }
    const reach = parts.includes('reach') ? await benchReach(sample, { directory, onProgress }) : nothing
    const adapters = parts.includes('adapters')
      ? await benchAdapters(sample, { directory, onProgress })
      : nothing
    const snapshot = parts.includes('snapshot')
      ? await benchSnapshot(sample, { directory, onProgress })
      : nothing
    return {
      reach: reach.rows,
      adapters: adapters.rows,
      snapshot: snapshot.rows,
      verdicts: [...reach.verdicts, ...adapters.verdicts, ...snapshot.verdicts],
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The tables; those of parts that were not measured are left out. */
export function formatSdk({ reach, adapters, snapshot }: SdkResult): string {
  const ofReach = () =>
    formatTable(reach, [
      { title: 'revoke → clients', text: ({ name }) => name },
      { title: 'clients', align: 'right', text: ({ clients }) => (clients === 0 ? '' : String(clients)) },
      { title: 'p50 ms', align: 'right', text: ({ p50Ms }) => formatNumber(p50Ms) },
      { title: 'p99 ms', align: 'right', text: ({ p99Ms }) => formatNumber(p99Ms) },
      { title: 'max ms', align: 'right', text: ({ maxMs }) => formatNumber(maxMs) },
      {
        title: 'KB each',
        align: 'right',
        text: ({ bytesPerClient }) => (bytesPerClient ? formatNumber(bytesPerClient / 1000) : ''),
      },
    ])
  const ofSnapshot = () =>
    formatTable(snapshot, [
      { title: 'guard', text: ({ name }) => name },
      { title: 's', align: 'right', text: ({ seconds }) => formatNumber(seconds) },
      { title: 'MB on the wire', align: 'right', text: ({ wireMb }) => formatNumber(wireMb) },
    ])
  return [
    ...(reach.length > 0 ? [ofReach()] : []),
    ...(adapters.length > 0 ? [formatHttp('guarded routes, 64 connections', adapters)] : []),
    ...(snapshot.length > 0 ? [ofSnapshot()] : []),
  ].join('\n\n')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { formatVerdict } = await import('./verdict.ts')
  const parts = process.argv.slice(2) as SdkPart[]
  const result = await benchSdk(parts.length > 0 ? { parts } : {})
  console.log([formatSdk(result), ...result.verdicts.map(formatVerdict)].join('\n'))
}
