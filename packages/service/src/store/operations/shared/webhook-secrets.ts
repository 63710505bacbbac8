import { json } from '../../columns.ts'
import type { Row } from '../../transaction.ts'

/** A secret and until when it signs; null for the newest. */
export interface KeptSecret {
  readonly sealed: string
  readonly untilMs: number | null
}

/** The secrets of a webhook that sign at this time, the newest first. */
export function findSigning(found: Row, nowMs: number): readonly string[] {
  return json<readonly KeptSecret[]>(found, 'secrets')
    .filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
    .map(({ sealed }) => sealed)
}
