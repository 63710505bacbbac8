import { type MessagePort, parentPort } from 'node:worker_threads'
import { startWriter, type WriterOptions } from '../../src/store/sqlite/writer.ts'

/** What a host is sent for each store. */
export interface WriterStart {
  readonly port: MessagePort
  readonly options: WriterOptions
}

/** A thread that runs the writers of several stores, one after the other. */
parentPort?.on('message', ({ port, options }: WriterStart) => startWriter(port, options))
