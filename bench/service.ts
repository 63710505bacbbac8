import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createSample } from './sample.ts'
import { benchDurable } from './service-durable.ts'
import { benchServiceHttp } from './service-http.ts'
import { benchStartUp } from './service-start-up.ts'
import type { ServiceRows } from './service-tables.ts'
import type { Verdict } from './verdict.ts'

export interface ServiceResult extends ServiceRows {
  readonly verdicts: readonly Verdict[]
}

const PARTS = ['http', 'durable', 'start-up'] as const
export type ServicePart = (typeof PARTS)[number]

export interface BenchServiceOptions {
  readonly parts?: readonly ServicePart[]
  readonly onProgress?: (what: string, done: number, all: number) => void
}

/**
 * The running service: requests beside bare servers, writes with every commit synced, and the way
 * back after a million revocations.
 */
export async function benchService({
  parts = PARTS,
  onProgress = () => {},
}: BenchServiceOptions = {}): Promise<ServiceResult> {
  const sample = await createSample(Date.now())
  // In a place where a sync reaches a disk: what is in memory cannot be synced, and would flatter.
  const directory = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  try {
    const nothing = { rows: [], verdicts: [] }
    const http = parts.includes('http') ? await benchServiceHttp(sample, { directory, onProgress }) : nothing
    const durable = parts.includes('durable')
      ? await benchDurable(sample, { directory, onProgress })
      : nothing
    const startUp = parts.includes('start-up')
      ? await benchStartUp(sample, { directory, onProgress })
      : nothing
    return {
      http: http.rows,
      durable: durable.rows,
      startUp: startUp.rows,
      verdicts: [...http.verdicts, ...durable.verdicts, ...startUp.verdicts],
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { formatService } = await import('./service-tables.ts')
  const { formatVerdict } = await import('./verdict.ts')
  const parts = process.argv.slice(2) as ServicePart[]
  const result = await benchService(parts.length > 0 ? { parts } : {})
  console.log([formatService(result), ...result.verdicts.map(formatVerdict)].join('\n'))
}
