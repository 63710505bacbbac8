import type { SignedReceipt } from '@countersign/core'
import { facts, visible } from '../terminal/output.ts'
import { shortInstance } from './propagation.ts'

/** What is printed of a signed receipt. */
type Receipt = Omit<SignedReceipt, 'site_id'>
type Verifier = Receipt['verifiers'][number]

/** A receipt for people: what happened, who applied it when, and who has not. */
export function receiptText(receipt: Receipt): string {
  const { epoch, seq, kind, at, as_of, state, final, drill_id, denied_everywhere_at } = receipt
  const listed = (...states: readonly Verifier['state'][]) =>
    receipt.verifiers.filter((verifier) => states.includes(verifier.state)).length
  const done = receipt.acknowledged - listed('acknowledged')
  const late =
    receipt.expected - receipt.acknowledged - receipt.gone - listed('waiting', 'silent', 'not_connected')
  return facts([
    ['entry', `${epoch}.${seq} ${kind}`],
    ['at', at],
    ['drill', drill_id ?? undefined],
    ['state', `${state}${final ? '' : ', not final'}`],
    ['applied by', appliedText(receipt)],
    ...receipt.verifiers.map((verifier) => [verifier.state, verifierText(verifier)] as const),
    ['not listed', late > 0 ? `${late} more have not acknowledged` : undefined],
    ['not listed', done > 0 ? `${done} more have acknowledged` : undefined],
    ['denied everywhere', denied_everywhere_at ?? 'unknown: a verifier fails open'],
    ['written', as_of],
  ])
}

/** Such as `11 of 12 verifiers, the last after 41 ms`. */
export function appliedText({
  expected,
  acknowledged,
  gone,
  elapsed_ms,
}: Pick<Receipt, 'expected' | 'acknowledged' | 'gone' | 'elapsed_ms'>): string {
  if (expected === 0) return 'no verifier was connected'
  const last = elapsed_ms === null || acknowledged === 0 ? '' : `, the last after ${elapsed_ms} ms`
  return `${acknowledged} of ${expected} verifiers${last}${gone === 0 ? '' : `; ${gone} gone`}`
}

function verifierText(verifier: Verifier): string {
  const { verifier_id, instance_id, rejects_from, fails_open, first_denied_ms: denied_ms } = verifier
  const instance = instance_id === verifier_id ? null : shortInstance(instance_id)
  const name = instance === null ? visible(verifier_id) : `${visible(verifier_id)} ${instance}`
  const after = timeText(verifier)
  const denied = denied_ms === null || denied_ms === undefined ? '' : `, first denied after ${denied_ms} ms`
  const rejects = rejects_from === null ? '' : `, rejects everything from ${rejects_from}`
  return `${name}${after}${denied}${rejects}${fails_open ? ', fails open' : ''}`
}

/** What the verifier reported itself, or else when its acknowledgement arrived. */
function timeText({ after_ms, applied_ms }: Verifier): string {
  if (after_ms === null) return ''
  if (applied_ms === null || applied_ms === undefined) return `, after ${after_ms} ms`
  return `, applied after ${applied_ms} ms, acknowledged after ${after_ms} ms`
}
