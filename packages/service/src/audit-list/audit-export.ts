import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import type { AuditRow as AuditBody } from '@countersign/core/contract'
import type { AnswerStream } from '../answer.ts'
import type { Store } from '../store/store.ts'
import { toAuditBody } from './audit-body.ts'
import type { AuditQuery } from './audit-filter.ts'
import { CSV_HEAD, toCsvLine } from './csv.ts'
import { toOcsfEvent } from './ocsf.ts'

interface ExportFormat {
  readonly contentType: string
  readonly head: string
  readonly toLine: (row: AuditBody) => string
}

const NDJSON = 'application/x-ndjson'

export const exportFormats = {
  ndjson: { contentType: NDJSON, head: '', toLine: (row) => `${JSON.stringify(row)}\n` },
  ocsf: { contentType: NDJSON, head: '', toLine: (row) => `${JSON.stringify(toOcsfEvent(row))}\n` },
  csv: { contentType: 'text/csv; charset=utf-8; header=present', head: CSV_HEAD, toLine: toCsvLine },
} as const satisfies Record<string, ExportFormat>

export interface ExportOrder extends AuditQuery {
  readonly format: ExportFormat
  /** The row after which it begins. */
  readonly after: string | undefined
  readonly rowsMax: number
  /** Rejects when the caller may not read on. */
  readonly confirmCaller: () => Promise<void>
}

const BATCH = 500
/** Longer than any client with a working connection needs. */
const EXPORT_MS_MAX = 900_000

/**
 * Opens an export. Rejects when its first rows cannot be read. The store is read a batch at a time,
 * as fast as the client reads, and at most half of the time.
 */
export async function openAuditExport(
  store: Pick<Store, 'selectAuditRows'>,
  order: ExportOrder,
  release: () => void,
): Promise<Extract<AnswerStream, { kind: 'pieces' }>> {
  const load = (after: string | undefined) => store.selectAuditRows(order.selection, { after, limit: BATCH })
  const first = await load(order.after)
  return {
    kind: 'pieces',
    pieces: (encoding) => {
      const texts = toTexts(order, first, load)
      return encoding === 'gzip' ? compress(texts) : texts
    },
    signal: AbortSignal.timeout(EXPORT_MS_MAX),
    release,
  }
}

async function* toTexts(
  { format, isListed, rowsMax, confirmCaller }: ExportOrder,
  first: Awaited<ReturnType<Store['selectAuditRows']>>,
  load: (after: string | undefined) => ReturnType<Store['selectAuditRows']>,
): AsyncGenerator<Uint8Array> {
  if (format.head !== '') yield Buffer.from(format.head)
  let left = rowsMax
  for (let batch = first; ; ) {
    const listed = batch.map(toAuditBody).filter((row) => isListed?.(row) ?? true)
    const taken = listed.slice(0, left)
    left -= taken.length
    if (taken.length > 0) yield Buffer.from(taken.map(format.toLine).join(''))
    if (left === 0 || batch.length < BATCH) return
    await confirmCaller()
    const beganMs = performance.now()
    const next = await load(batch.at(-1)?.id)
    await pause(performance.now() - beganMs)
    batch = next
  }
}

async function* compress(texts: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip()
  const compressing = pipeline(Readable.from(texts), gzip)
  // A reader that stops early ends the pipeline; that is no fault.
  compressing.catch(() => undefined)
  yield* gzip as AsyncIterable<Uint8Array>
  await compressing
}
