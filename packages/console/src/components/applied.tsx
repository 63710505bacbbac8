import type { ReceiptSummary } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { say } from '../say.ts'
import { Pill, StateMark, type Tone } from './state.tsx'

type Counts = Pick<ReceiptSummary, 'acknowledged' | 'expected' | 'state'>

/** Green only when every expected verifier has applied the entry. */
function toAppliedTone({ acknowledged, expected, state }: Counts): Tone {
  if (expected === 0) return 'none'
  return acknowledged === expected ? 'good' : state === 'complete' ? 'gone' : 'late'
}

/** `11 of 12`, as a pill. */
export function Applied(counts: Counts): JSX.Element {
  const { acknowledged, expected } = counts
  return (
    <Pill tone={toAppliedTone(counts)}>
      {expected === 0 ? say('No verifier') : say('{acknowledged} of {expected}', { acknowledged, expected })}
    </Pill>
  )
}

/** The same in a line of text. */
export function AppliedCount(counts: Counts): JSX.Element {
  const { acknowledged, expected } = counts
  return (
    <span class="applied">
      <StateMark tone={toAppliedTone(counts)} />
      {expected === 0 ? say('no verifier') : say('{acknowledged} of {expected}', { acknowledged, expected })}
    </span>
  )
}
