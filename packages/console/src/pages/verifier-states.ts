import type { Verifier } from '@countersign/core/contract'
import type { Tone } from '../components/state.tsx'
import { serviceNowMs } from '../live.ts'
import { say, sayCount } from '../say.ts'
import { formatMoment } from '../time.ts'

/** What a person sees of a verifier, from what the service says of it. */
export interface ShownState {
  readonly tone: Tone
  readonly word: string
}

/** Green only for a verifier that is connected and has applied everything. */
export function showVerifier({ state, lag, fails_open, rejects_everything_since }: Verifier): ShownState {
  if (state === 'connected' && lag === 0)
    return { tone: 'good', word: fails_open ? say('up to date, fails open') : say('up to date') }
  if (state === 'connected') return { tone: 'late', word: say('behind by {lag}', { lag }) }
  if (state === 'silent') return { tone: 'silent', word: say('silent') }
  if (state === 'retired') return { tone: 'none', word: say('retired') }
  if (fails_open) return { tone: 'bad', word: say('not connected, may accept revoked access') }
  if (rejects_everything_since === null) return { tone: 'soon', word: say('not connected, not known') }
  return isPast(rejects_everything_since)
    ? { tone: 'gone', word: say('not connected, rejects everything') }
    : { tone: 'soon', word: say('not connected, may still accept') }
}

function isPast(time: string): boolean {
  return Date.parse(time) <= serviceNowMs()
}

/** One sentence about a verifier, which also names its dot. */
export function describeVerifier(verifier: Verifier): string {
  const { verifier_id, state, seq, lag, fails_open, acknowledged_at, rejects_everything_since } = verifier
  const name = { verifier: verifier_id }
  const more = [
    acknowledged_at !== null && (state === 'silent' || lag > 0)
      ? say('It last answered at {time}.', { time: formatMoment(acknowledged_at) })
      : '',
    fails_open ? say('It fails open: without fresh data it may accept revoked access.') : '',
  ]
  const join = (sentence: string) => [sentence, ...more].filter((each) => each !== '').join(' ')
  if (state === 'connected' && lag === 0)
    return join(say('{verifier} has applied entry {seq}.', { ...name, seq }))
  if (state === 'connected')
    return join(
      sayCount(
        lag,
        '{verifier} is behind by {count} entry.',
        '{verifier} is behind by {count} entries.',
        name,
      ),
    )
  if (state === 'silent') return join(say('{verifier} is connected and does not answer.', name))
  if (state === 'retired') return say('{verifier} is retired.', name)
  if (fails_open)
    return say('{verifier} is not connected and fails open: it may accept revoked access.', name)
  if (rejects_everything_since === null)
    return say('{verifier} is not connected. Whether it rejects requests is not known.', name)
  const time = formatMoment(rejects_everything_since)
  return isPast(rejects_everything_since)
    ? say('{verifier} is not connected and has rejected every request since {time}.', { ...name, time })
    : say(
        '{verifier} is not connected. It may still accept until {time}, and rejects everything from then on.',
        { ...name, time },
      )
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
