import type { PropagationReceipt } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { StateMark } from '../components/state.tsx'
import { serviceNowMs } from '../live.ts'
import { say, sayList } from '../say.ts'
import { formatDuration, formatMoment } from '../time.ts'
import { toCounts } from './counts.ts'
import { failsOpen, findRejectedSince, type Reported, toKey, toMs } from './reported.ts'

const ROWS_MAX = 40

/** One bar for each verifier. A bar appears when its acknowledgement arrives, and never before. */
export function AppliedBy({ propagation }: { readonly propagation: PropagationReceipt }): JSX.Element {
  const rows = propagation.verifiers
    .map((each) => ({ each, ms: toMs(each, propagation) }))
    .sort((a, b) => order(a) - order(b) || (a.ms ?? 0) - (b.ms ?? 0))
  const scale = toScale(Math.max(0, ...rows.map(({ ms }) => ms ?? 0)))
  return (
    <section class="applied-by">
      <div class="row">
        <h3>{say('Applied by')}</h3>
        <span class="meta">{say('{counts} verifiers', { counts: toCounts(propagation) })}</span>
      </div>
      <Segments rows={rows} />
      <div class="axis" aria-hidden="true">
        {scale.ticks.map((tick, i) => (
          <span key={tick}>
            {i === scale.ticks.length - 1 ? formatDuration(tick).replace('.0', '') : toTick(tick, scale.max)}
          </span>
        ))}
      </div>
      <ol class="bars">
        {rows.slice(0, ROWS_MAX).map(({ each, ms }) => (
          <li key={toKey(each)} class={ms === undefined ? toClass(each) : ''}>
            <span class="name" title={each.verifier_id}>
              {ms === undefined && each.state === 'not_connected' && <StateMark tone="gone" />}
              {each.verifier_id}
            </span>
            {ms === undefined && each.state !== 'waiting' ? (
              <em>{describeRow(each, propagation)}</em>
            ) : (
              <>
                <svg viewBox={`0 0 ${scale.max} 22`} preserveAspectRatio="none" aria-hidden="true">
                  {scale.ticks.map((at) => (
                    <path key={at} class="grid" vector-effect="non-scaling-stroke" d={`M${at} 0V22`} />
                  ))}
                  {ms !== undefined && (
                    <rect class="fill" y="6" width={Math.max(scale.max / 200, ms)} height="10" />
                  )}
                </svg>
                <span class="ms">{ms === undefined ? say('waiting') : formatDuration(ms)}</span>
              </>
            )}
          </li>
        ))}
      </ol>
      {rows.length > ROWS_MAX && (
        <p class="meta">{say('and {count} more', { count: rows.length - ROWS_MAX })}</p>
      )}
    </section>
  )
}

interface Row {
  readonly each: Reported
  readonly ms: number | undefined
}

function order({ each, ms }: Row): number {
  return ms !== undefined ? 0 : ['waiting', 'silent', 'not_connected'].indexOf(each.state) + 1
}

function toClass({ state }: Reported): string {
  return state === 'not_connected' ? 'lost' : state === 'silent' ? 'quiet-row' : 'pending'
}

function describeRow(each: Reported, propagation: PropagationReceipt): string {
  const word = each.state === 'not_connected' ? say('not connected') : say('silent')
  if (failsOpen(each, propagation)) return sayList([word, say('fails open')])
  if (each.rejects_from === null) return sayList([word, say('not known from when on it rejects')])
  const isPast = Date.parse(each.rejects_from) <= serviceNowMs()
  const time = isPast ? (findRejectedSince(each) ?? each.rejects_from) : each.rejects_from
  return isPast
    ? sayList([word, say('rejects everything since {time}', { time: formatMoment(time) })])
    : sayList([word, say('rejects everything from {time}', { time: formatMoment(time) })])
}

/** One piece for each verifier, all in one line. */
function Segments({ rows }: { readonly rows: readonly Row[] }): JSX.Element {
  const width = 504 / rows.length
  const gap = Math.min(4, width / 3)
  return (
    <svg class="segments" viewBox="0 0 504 8" preserveAspectRatio="none" aria-hidden="true">
      {rows.map(({ each, ms }, i) => (
        <rect
          key={toKey(each)}
          class={ms !== undefined ? 'fill' : each.state === 'not_connected' ? 'lost' : 'rest'}
          x={i * width + 0.5}
          y="0.5"
          width={Math.max(0.5, width - gap - 1)}
          height="7"
          rx="2"
        />
      ))}
    </svg>
  )
}

/** Steps of 1, 2 or 5, so that the longest bar ends within five of them. */
function toScale(longest: number): { readonly max: number; readonly ticks: readonly number[] } {
  const least = Math.max(50, longest) / 5
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= least) ?? least
  return { max: 5 * step, ticks: [0, 1, 2, 3, 4, 5].map((n) => n * step) }
}

function toTick(ms: number, max: number): string {
  return max >= 5000 ? String(ms / 1000) : String(ms)
}
