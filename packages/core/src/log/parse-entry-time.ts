import { parseTime } from '../encoding/rfc3339.ts'

let lastText: unknown
let lastMs: number | undefined

/**
 * `parseTime` for the times of entries. An entry mostly names one moment twice (`at` and
 * `revoked_at`) and is asked for it once more when it is applied, so the last answer is kept: with
 * a million entries to read at a start, that is a tenth of the time.
 */
export function parseEntryTime(text: unknown): number | undefined {
  if (text !== lastText) {
    lastMs = parseTime(text)
    lastText = text
  }
  return lastMs
}
