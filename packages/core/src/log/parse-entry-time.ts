import { parseTime } from '../encoding/rfc3339.ts'

let lastText: unknown
let lastMs: number | undefined

/**
 * `parseTime` with a cache of one value. Most entries have the same time twice (`at` and
 * `revoked_at`), and it is needed again when the entry is applied. Saves a tenth of the time to
 * load a million entries.
 */
export function parseEntryTime(text: unknown): number | undefined {
  if (text !== lastText) {
    lastMs = parseTime(text)
    lastText = text
  }
  return lastMs
}
