import type { JSX } from 'preact'
import { createLogScale, formatDecade, round } from './scale.ts'

/** The range of a strip. Verifiers that take longer are at its end. */
const FROM_MS = 1
const TO_MS = 10_000
/** In percent of the width, so that strips can have any width. */
const toPercent = createLogScale(FROM_MS, TO_MS, 99)

interface StripProps {
  /** After how many milliseconds each verifier had applied the entry. */
  readonly ticks: readonly number[]
  /** Whether every expected verifier is among them. */
  readonly isComplete: boolean
}

/**
 * One entry, from its commit until the last verifier has applied it: each tick is a verifier. The
 * numbers beside it say the same in words.
 */
export function Strip({ ticks, isComplete }: StripProps): JSX.Element {
  const last = Math.max(0, ...ticks.map(toPercent))
  return (
    <svg class="strip" height="14" aria-hidden="true">
      <rect class="fill-sunken" x="0" y="4" width="100%" height="6" rx="3" />
      {ticks.length > 0 && (
        <rect
          class={isComplete ? 'fill-soft' : 'fill-part'}
          x="0"
          y="4"
          width={`${round(last + 0.5)}%`}
          height="6"
          rx="3"
        />
      )}
      {ticks.map((ms, i) => (
        <rect key={i} class="fill-green" x={`${toPercent(ms)}%`} y="0" width="2" height="14" />
      ))}
    </svg>
  )
}

/** Whether `1 ms` is so short in this language that all numbers have room. */
const isNarrow = formatDecade(1).length <= 4

/** The numbers over a column of strips. */
export function StripAxis(): JSX.Element {
  return (
    <svg class="strip-axis" height="14" aria-hidden="true">
      {(isNarrow ? [1, 10, 100, 1000, 10_000] : [1, 100, 10_000]).map((ms) => (
        <text
          key={ms}
          x={`${toPercent(ms)}%`}
          y="11"
          text-anchor={ms === FROM_MS ? 'start' : ms === TO_MS ? 'end' : 'middle'}
        >
          {ms === 1 || ms >= 1000 ? formatDecade(ms) : ms}
        </text>
      ))}
    </svg>
  )
}
