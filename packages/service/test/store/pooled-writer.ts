import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { WriterOptions } from '../../src/store/sqlite/writer.ts'
import type { FromWriter, ToWriter } from '../../src/store/sqlite/writer-messages.ts'
import type { WriterStart } from './writer-host.ts'

/** Threads whose last store was closed or could not be opened. */
const idle: Worker[] = []

/**
 * In place of a `Worker` for each store: starting a thread and loading its modules takes 150 ms of
 * processor time, three quarters of what it takes to open a store. A thread that has failed is not
 * used again.
 */
export class PooledWriter extends EventEmitter {
  readonly #thread: Worker
  readonly #port: MessagePort
  #isDone = false
  readonly #onError = (fault: unknown) => this.emit('error', fault)
  readonly #onExit = () => this.emit('exit')

  constructor(_url: URL, { workerData }: { readonly workerData: WriterOptions }) {
    super()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#thread = idle.pop() ?? new Worker(join(process.env.TEST_SCRIPTS as string, 'writer-host.mjs'))
    this.#thread.ref()
    this.#thread.on('error', this.#onError).on('exit', this.#onExit)
    port1.on('message', (message: FromWriter) => {
      if (message.kind === 'closed' || message.kind === 'rejected') this.#giveBack()
      this.emit('message', message)
      // A thread of its own would have nothing left to do.
      if (message.kind === 'fatal') void this.#thread.terminate()
    })
    this.#thread.postMessage({ port: port2, options: workerData } satisfies WriterStart, [port2])
  }

  #giveBack(): void {
    this.#isDone = true
    this.#thread.off('error', this.#onError).off('exit', this.#onExit)
    this.#thread.unref()
    this.#port.close()
    idle.push(this.#thread)
  }

  postMessage(message: ToWriter): void {
    this.#port.postMessage(message)
  }

  async terminate(): Promise<void> {
    if (!this.#isDone) await this.#thread.terminate()
  }
}
