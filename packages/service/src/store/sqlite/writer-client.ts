import { Worker } from 'node:worker_threads'
import type { Clocks } from '@countersign/core'
import { OtherMasterKey } from '../../sealing/sealer.ts'
import { systemClocks } from '../../system-clocks.ts'
import { type AppendedRow, type CommittedPart, toCommittedPart } from '../committed-part.ts'
import { RowForged, StoreUnavailable } from '../errors.ts'
import type { OperationName } from '../operations/all.ts'
import type { RowIntegrity } from '../row-integrity.ts'
import type { WriterOptions } from './writer.ts'
import type { FromWriter, Outcome, ToWriter, TransportedFault } from './writer-messages.ts'

/** The writer thread, as the main thread uses it. */
export interface Writer {
  readonly macKey: string
  /**
   * Resolves when the operation is durable. Rejects with a `StoreUnavailable` when that is unknown,
   * or takes too long.
   */
  run(name: OperationName, args: readonly unknown[]): Promise<unknown>
  close(): Promise<void>
}

export interface WriterClientOptions extends WriterOptions {
  /** Called before the operations are answered. */
  readonly onAppended: (part: CommittedPart | undefined) => void
  readonly onForged: RowIntegrity['onForged']
  readonly onFatal: (fault: Error) => void
}

interface Waiting {
  readonly resolve: (answer: unknown) => void
  readonly reject: (fault: Error) => void
  readonly since: Clocks
  readonly hasTimeout: boolean
}

const ANSWER_MS_MAX = 5000
const WAITING_MAX = 20_000
/** Operations that may take any time: they copy a whole log. */
const NO_TIMEOUT: ReadonlySet<OperationName> = new Set(['beginEpoch'])

/** Starts the writer thread. Rejects when it cannot use the file. */
export async function openWriter(options: WriterClientOptions): Promise<Writer> {
  const { file, masterKey, mustExist, onAppended, onForged, onFatal } = options
  const isSource = import.meta.url.endsWith('.ts')
  const script = new URL(isSource ? './writer-thread.ts' : './writer-thread.js', import.meta.url)
  const worker = new Worker(script, {
    workerData: { file, masterKey, mustExist } satisfies WriterOptions,
    // When run from sources, the other packages are loaded from their sources as well. The flags of
    // the process are not passed on, because a thread rejects some.
    ...(isSource && { execArgv: ['--conditions=countersign-source'] }),
  })
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let isReady = false
  let isEnded = false
  let onClosed: (() => void) | undefined

  const end = (fault: Error | undefined) => {
    if (isEnded) return
    isEnded = true
    clearInterval(timeouts)
    for (const { reject } of waiting.values())
      reject(new StoreUnavailable('the store has failed', { cause: fault }))
    waiting.clear()
    if (fault !== undefined && isReady && onClosed === undefined) onFatal(fault)
    onClosed?.()
  }

  const timeouts = setInterval(() => {
    const endMs = performance.now() - ANSWER_MS_MAX
    for (const [id, { reject, since, hasTimeout }] of waiting) {
      if (since.monotonicMs > endMs) break
      if (!hasTimeout) continue
      waiting.delete(id)
      reject(new StoreUnavailable('the store took too long'))
    }
  }, 250)
  timeouts.unref()

  const macKey = await new Promise<string>((resolve, reject) => {
    worker.on('message', (message: FromWriter) => {
      switch (message.kind) {
        case 'ready':
          isReady = true
          resolve(message.macKey)
          break
        case 'forged':
          onForged(message.row)
          break
        case 'rejected':
          isEnded = true
          clearInterval(timeouts)
          reject(toFault(message.fault))
          break
        case 'done': {
          const part = message.hasAppended ? toPart(message.appended, message.outcomes) : undefined
          const settle = takeWaiting(message.outcomes)
          if (message.hasAppended) {
            // After what `onAppended` does without waiting: the feed comes first.
            setImmediate(settle)
            onAppended(part)
          } else settle()
          break
        }
        case 'fatal':
          end(toFault(message.fault))
          break
        case 'closed':
          end(undefined)
          break
      }
    })
    worker.on('error', (fault) => {
      reject(fault)
      end(fault as Error)
    })
    worker.on('exit', () => end(new Error('the writer of the store has ended')))
  })

  /** Ends the waiting for these operations. The returned function answers them. */
  const takeWaiting = (outcomes: readonly Outcome[]) => {
    const asked = outcomes.map(({ id }) => waiting.get(id))
    for (const { id } of outcomes) waiting.delete(id)
    return () => {
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.ok) asked[index]?.resolve(outcome.answer)
        else asked[index]?.reject(toFault(outcome.fault))
      }
    }
  }

  /** Of the operations that are still waited for, the last was sent before their commit. */
  const toPart = (appended: readonly AppendedRow[], outcomes: readonly Outcome[]) => {
    const last = outcomes.findLast(({ id }) => waiting.has(id))
    const before = last && waiting.get(last.id)?.since
    return before && toCommittedPart(appended, before)
  }

  const post = (message: ToWriter) => worker.postMessage(message)
  return {
    macKey,
    run(name, args) {
      if (isEnded || onClosed !== undefined)
        return Promise.reject(new StoreUnavailable('the store is closed'))
      if (waiting.size >= WAITING_MAX)
        return Promise.reject(new StoreUnavailable('too many writes are waiting for the store'))
      return new Promise((resolve, reject) => {
        const id = ++lastId
        waiting.set(id, { resolve, reject, since: systemClocks(), hasTimeout: !NO_TIMEOUT.has(name) })
        post({ kind: 'operation', id, name, args })
      })
    },
    async close() {
      if (isEnded) return
      await new Promise<void>((resolve) => {
        onClosed = resolve
        post({ kind: 'close' })
      })
      await worker.terminate()
    },
  }
}

function toFault({ name, message, isUnavailable, forged }: TransportedFault): Error {
  if (forged !== undefined) return new RowForged(forged.table, forged.key)
  if (isUnavailable) return new StoreUnavailable(`the store failed: ${message}`)
  if (name === 'OtherMasterKey') return new OtherMasterKey(message)
  const fault = name === 'TypeError' ? new TypeError(message) : new Error(message)
  fault.name = name
  return fault
}
