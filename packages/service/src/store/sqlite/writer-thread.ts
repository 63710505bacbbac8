import { parentPort, workerData } from 'node:worker_threads'
import { startWriter, type WriterOptions } from './writer.ts'

if (parentPort !== null) startWriter(parentPort, workerData as WriterOptions)
