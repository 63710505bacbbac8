import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../../vectors')

/** A file under `vectors/`, as text. */
export function readVector(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Parsed with `JSON.parse`, so that a vector does not depend on the code under test. */
export function readJsonVector<T>(path: string): T {
  return JSON.parse(readVector(path)) as T
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

export function unhex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'))
}
