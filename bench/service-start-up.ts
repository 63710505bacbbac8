import { join } from 'node:path'
import { readMasterKey } from '../packages/service/src/keys/master-key.ts'
import { generateStore } from './growth/generate.ts'
import { startServer } from './processes.ts'
import type { Sample } from './sample.ts'
import { toIssuer } from './service-http.ts'
import { atMost, type Verdict } from './verdict.ts'

export interface StartUpRow {
  readonly name: string
  readonly seconds: number
  /** Of the process with all its threads: less at the mercy of what else the machine does. */
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly rssMbMax: number
}

export interface BenchStartUpOptions {
  readonly directory: string
  readonly onProgress: (what: string, done: number, all: number) => void
  readonly revocations?: number
}

/**
 * From the start of the process to a service that is ready, with nothing in its log and with a
 * million revocations.
 */
export async function benchStartUp(
  sample: Sample,
  options: BenchStartUpOptions,
): Promise<{ rows: StartUpRow[]; verdicts: Verdict[] }> {
  const { directory, onProgress, revocations = 1_000_000 } = options
  const dataDir = join(directory, 'start-up')
  const issuer = toIssuer(sample)
  const start = async (name: string): Promise<StartUpRow> => {
    const ours = await startServer('ours', { dataDir, issuer })
    const { cpuUs, rssBytes, rssBytesMax } = await ours.usage()
    await ours.stop()
    return {
      name,
      seconds: ours.startMs / 1000,
      cpuSeconds: cpuUs / 1e6,
      rssMb: rssBytes / 2 ** 20,
      rssMbMax: rssBytesMax / 2 ** 20,
    }
  }
  await start('first') // Makes the file.
  const empty = await start('start-up, no revocations')
  onProgress('writing revocations', 0, revocations)
  await revokeMany(dataDir, revocations)
  const full = await start(`start-up, ${revocations.toLocaleString('en')} revocations, SQLite`)
  return {
    rows: [empty, full],
    verdicts: [atMost('start-up with a million revocations ≤ 15 s', 15, full.seconds)],
  }
}

/** Adds so many revocations to the store of a service that was started before. */
export async function revokeMany(dataDir: string, revocations: number): Promise<void> {
  await generateStore({
    place: { kind: 'sqlite', file: join(dataDir, 'countersign.db') },
    masterKey: readMasterKey({ text: undefined, file: undefined, dataDir, mode: 'production' }),
    revocations,
  })
}
