import type { Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { Command } from '../components/copy.tsx'
import { StateMark, type Tone } from '../components/state.tsx'
import { liveLog, tick, verifiers } from '../live.ts'
import { sitePath } from '../router.ts'
import { isLive } from '../shell/shell.tsx'
import { formatDuration, formatMoment } from '../time.ts'
import { countUpToDate, groupByName, showVerifier } from './verifier-states.ts'

/** "Is every verifier up to date?", answered by a sentence. */
export function Overview({ siteId }: { readonly siteId: string }): JSX.Element {
  const all = verifiers.value
  return (
    <>
      <p class="question">Is every verifier up to date?</p>
      <Answer all={all} />
      {all !== undefined && all.length > 0 && <Fleet siteId={siteId} all={all} />}
    </>
  )
}

function Answer({ all }: { readonly all: readonly Verifier[] | undefined }): JSX.Element {
  if (all === undefined) return <h1 class="answer pending">Asking the service…</h1>
  if (!isLive())
    return (
      <>
        <h1 class="answer">Not known at this moment.</h1>
        <p class="lead">
          The service has not sent a signed head for {formatAge()}. What follows is the last known state.
        </p>
      </>
    )
  if (all.length === 0)
    return (
      <>
        <h1 class="answer">No verifier follows this site yet.</h1>
        <p class="lead">A route that is protected with the SDK appears here as soon as it connects.</p>
        <Command text="npm start -- --with-demo-app" />
      </>
    )
  const { good, all: count } = countUpToDate(all)
  const missing = all.filter((each) => showVerifier(each).tone !== 'good')
  return (
    <>
      <h1 class="answer">
        {good === count
          ? count === 1
            ? 'The one verifier is up to date.'
            : `All ${count} verifiers are up to date.`
          : `${good} of ${count} verifiers are up to date.`}
      </h1>
      {missing.slice(0, 3).map((each) => (
        <p class="lead" key={`${each.verifier_id} ${each.instance_id}`}>
          <strong>{each.verifier_id}</strong> is {showVerifier(each).word}
          {each.acknowledged_at === null
            ? '.'
            : `. It last answered at ${formatMoment(each.acknowledged_at)}.`}
        </p>
      ))}
    </>
  )
}

function formatAge(): string {
  const known = liveLog.value
  return known === undefined ? 'some time' : formatDuration(Math.max(0, tick.value - known.provenAtMs))
}

const LEGEND: readonly (readonly [Tone, string])[] = [
  ['good', 'up to date'],
  ['late', 'behind'],
  ['silent', 'silent'],
  ['gone', 'not connected, rejects everything'],
]

function Fleet({ siteId, all }: { readonly siteId: string; readonly all: readonly Verifier[] }): JSX.Element {
  const shownTone = (each: Verifier): Tone => (isLive() ? showVerifier(each).tone : 'none')
  return (
    <div class="cards two">
      <section class="card">
        <h2>Verifiers by application</h2>
        <ul class="fleet">
          {groupByName(all).map(([name, instances]) => (
            <li key={name}>
              <a href={sitePath(siteId, 'verifiers')}>{name}</a>
              <span class="meta">
                {countUpToDate(instances).good} of {instances.length} up to date
              </span>
              <span class="dots">
                {instances.map((each) => (
                  <StateMark key={each.instance_id} tone={shownTone(each)} size={18} />
                ))}
              </span>
            </li>
          ))}
        </ul>
        <p class="legend">
          {LEGEND.map(([tone, word]) => (
            <span key={tone}>
              <StateMark tone={tone} />{' '}
              <strong>{all.filter((each) => shownTone(each) === tone).length}</strong> {word}
            </span>
          ))}
        </p>
      </section>
      <section class="card">
        <h2>Log position</h2>
        <p class="figure">{liveLog.value?.seq.toLocaleString('en') ?? '–'}</p>
        <p class="meta">Signed head, proven {formatAge()} ago</p>
      </section>
    </div>
  )
}
