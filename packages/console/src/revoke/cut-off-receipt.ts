import type { CutOff } from '@countersign/core/contract'
import type { Sent } from '../components/act-sheet.tsx'
import { showReceipt } from './state.ts'

interface Words {
  /** What ended, as a title. */
  readonly title: string
  /** As in "This cut-off is durable". */
  readonly subject: string
  readonly done: string
}

/** After a cut-off, the same receipt as after a revocation: it fills up as verifiers report. */
export function showCutOff(
  siteId: string,
  { title, subject, done }: Words,
  answer: CutOff,
  sent: Sent,
): void {
  const { seq, target, entries, already_revoked } = answer
  const { request, cli, reason } = sent
  showReceipt(siteId, { kind: 'change', title, id: target, subject, done, request, cli }, reason, {
    seq,
    entries: entries?.map((each) => ({ seq: each.seq, id: each.ppid })) ?? [{ seq, id: target }],
    wasRevoked: already_revoked,
    count: already_revoked ? 0 : 1,
    notFound: 0,
  })
}
