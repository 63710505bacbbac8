import type { Verifier } from '@countersign/core/contract'
import type { Tone } from '../components/state.tsx'
import { serviceNowMs } from '../live.ts'
import { formatMoment } from '../time.ts'

/** What a person sees of a verifier, from what the service says of it. */
export interface ShownState {
  readonly tone: Tone
  readonly word: string
}

/** Green only for a verifier that is connected and has applied everything. */
export function showVerifier({ state, lag, fails_open, rejects_everything_since }: Verifier): ShownState {
  if (state === 'connected' && lag === 0)
    return { tone: 'good', word: fails_open ? 'up to date, fails open' : 'up to date' }
  if (state === 'connected') return { tone: 'late', word: `behind by ${lag}` }
  if (state === 'silent') return { tone: 'silent', word: 'silent' }
  if (state === 'retired') return { tone: 'none', word: 'retired' }
  if (fails_open) return { tone: 'bad', word: 'not connected, may accept revoked access' }
  if (rejects_everything_since === null) return { tone: 'soon', word: 'not connected, not known' }
  return isPast(rejects_everything_since)
    ? { tone: 'gone', word: 'not connected, rejects everything' }
    : { tone: 'soon', word: 'not connected, may still accept' }
}

function isPast(time: string): boolean {
  return Date.parse(time) <= serviceNowMs()
}

/** One sentence about a verifier, which also names its dot. */
export function describeVerifier(verifier: Verifier): string {
  const { verifier_id, state, seq, lag, fails_open, acknowledged_at, rejects_everything_since } = verifier
  const open = fails_open ? ' It fails open: without fresh data it may accept revoked access.' : ''
  const answered = acknowledged_at === null ? '' : ` It last answered at ${formatMoment(acknowledged_at)}.`
  if (state === 'connected' && lag === 0) return `${verifier_id} has applied entry ${seq}.${open}`
  if (state === 'connected')
    return `${verifier_id} is behind by ${lag} ${lag === 1 ? 'entry' : 'entries'}.${answered}${open}`
  if (state === 'silent') return `${verifier_id} is connected and does not answer.${answered}${open}`
  if (state === 'retired') return `${verifier_id} is retired.`
  if (fails_open) return `${verifier_id} is not connected and fails open: it may accept revoked access.`
  if (rejects_everything_since === null)
    return `${verifier_id} is not connected. Whether it rejects requests is not known.`
  const time = formatMoment(rejects_everything_since)
  return isPast(rejects_everything_since)
    ? `${verifier_id} is not connected and has rejected every request since ${time}.`
    : `${verifier_id} is not connected. It may still accept until ${time}, and rejects everything from then on.`
}

export function countUpToDate(all: readonly Verifier[]): { readonly good: number; readonly all: number } {
  return { good: all.filter((each) => showVerifier(each).tone === 'good').length, all: all.length }
}

/** Groups by a name, in the order of the names. */
export function groupBy<T>(
  all: readonly T[],
  toName: (each: T) => string,
): readonly (readonly [string, readonly T[]])[] {
  return [...Map.groupBy(all, toName)].sort(([a], [b]) => a.localeCompare(b))
}
