import { formatTime } from '@countersign/core'

/** A time as text; null when there is none. */
export function toOptionalTime(ms: number | undefined): string | null {
  return ms === undefined ? null : formatTime(ms)
}
