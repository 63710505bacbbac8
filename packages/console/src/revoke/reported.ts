import type { PropagationReceipt } from '@countersign/core/contract'
import { verifiers } from '../live.ts'

export type Reported = PropagationReceipt['verifiers'][number]

export function failsOpen(
  { verifier_id, instance_id }: Reported,
  { exceptions }: PropagationReceipt,
): boolean {
  return exceptions.some((each) => each.verifier_id === verifier_id && each.instance_id === instance_id)
}

/** A verifier that had gone before the act has rejected everything for longer. */
export function findRejectedSince({ verifier_id, instance_id }: Reported): string | undefined {
  const known = verifiers.value?.find(
    (each) => each.verifier_id === verifier_id && each.instance_id === instance_id,
  )
  return known?.rejects_everything_since ?? undefined
}

export function toKey({ verifier_id, instance_id }: Reported): string {
  return `${verifier_id} ${instance_id}`
}

/**
 * By clocks of the service only. A verifier may acknowledge before the commit time was read, and
 * one that connected with the entry has no time of its own.
 */
export function toMs(
  { state, acknowledged_at, applied_ms }: Reported,
  { committed_at }: PropagationReceipt,
): number | undefined {
  if (state !== 'acknowledged') return undefined
  if (applied_ms !== null) return applied_ms
  return acknowledged_at === null ? 0 : Math.max(0, Date.parse(acknowledged_at) - Date.parse(committed_at))
}
