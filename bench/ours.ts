import { SignatureCache, type SiteView, verify } from '@countersign/core'
import type { Subject } from './measure.ts'
import { describeLength, inTurn, READ, type Sample } from './sample.ts'

/** A day: a benchmark may run for long without a heartbeat. */
const VIEW_AGE_MS_MAX = 86_400_000
const demandScope = [READ]

/**
 * One decision as a guard makes it: both clocks are read, the age of the view is asked for, all
 * checks are done.
 */
export async function decide(
  header: string,
  view: SiteView,
  signatures: SignatureCache | undefined,
): Promise<void> {
  const nowMs = Date.now()
  const ageMs = view.ageMs({ wallMs: nowMs, monotonicMs: performance.now() })
  const data =
    signatures === undefined
      ? { site: view, ageMs, ageMsMax: VIEW_AGE_MS_MAX }
      : { site: view, ageMs, ageMsMax: VIEW_AGE_MS_MAX, signatures }
  const verdict = await verify({ header }, { scope: demandScope, nowMs }, data)
  if (!verdict.ok) throw new Error(`our own credential was denied: ${verdict.code}`)
}

/** Header text to decision with nothing remembered. */
export function coldWithoutMemory({ view }: Sample, headers: readonly string[]): Subject {
  const next = inTurn(headers)
  return {
    name: 'ours, cold',
    note: `header to decision, all checks, ${describeLength(headers[0])}`,
    async run(times) {
      for (let i = 0; i < times; i++) await decide(next(), view, undefined)
    },
  }
}

/** Every header is one that the memory has not seen, and is remembered for the future. */
export function coldWithMemory({ view }: Sample, headers: readonly string[]): Subject {
  let memory = new SignatureCache()
  let at = 0
  return {
    name: 'ours, cold, remembering',
    note: 'the same with a memory that has never seen the header',
    async run(times) {
      for (let i = 0; i < times; i++) {
        if (at === headers.length) {
          if (memory.size < headers.length * 0.99)
            throw new Error('headers that should have been new were not')
          memory = new SignatureCache()
          at = 0
        }
        await decide(headers[at++] as string, view, memory)
      }
    },
  }
}

/** Headers that were all seen before, one after the other. */
export async function warm({ view }: Sample, headers: readonly string[], capacity: number): Promise<Subject> {
  const memory = new SignatureCache({ capacity })
  for (const header of headers) await decide(header, view, memory)
  if (memory.size < headers.length * 0.999)
    throw new Error(`only ${memory.size} of ${headers.length} headers were remembered`)
  const next = inTurn(headers)
  return {
    name: `ours, warm, ${headers.length.toLocaleString('en')} ${headers.length === 1 ? 'header' : 'headers'}`,
    note: 'signature remembered, all other checks again',
    async run(times) {
      for (let i = 0; i < times; i++) await decide(next(), view, memory)
    },
  }
}

/**
 * What one remembered header costs in memory, the table included. The headers are alive before and
 * after, so they do not count. Undefined when the garbage collector cannot be called
 * (`--expose-gc`).
 */
export async function bytesPerEntry(
  { view }: Sample,
  headers: readonly string[],
  capacity: number,
): Promise<number | undefined> {
  const { gc } = globalThis as { gc?: () => void }
  if (gc === undefined) return undefined
  // Once before, so that code compiled on the way does not count either.
  for (const header of headers.slice(0, 2000)) await decide(header, view, new SignatureCache({ capacity: 8 }))
  const before = usedBytes(gc)
  const memory = new SignatureCache({ capacity })
  for (const header of headers) await decide(header, view, memory)
  return (usedBytes(gc) - before) / memory.size
}

function usedBytes(gc: () => void): number {
  gc()
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
