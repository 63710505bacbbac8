import type { JSX } from 'preact'
import { createLogScale } from './scale.ts'

const WIDTH = 168
/** The range of a strip. Verifiers that take longer are at its end. */
export const STRIP_FROM_MS = 1
export const STRIP_TO_MS = 10_000

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
  const toX = createLogScale(STRIP_FROM_MS, STRIP_TO_MS, WIDTH - 2)
  const last = Math.max(0, ...ticks.map(toX))
  return (
    <svg class="strip" viewBox={`0 0 ${WIDTH} 14`} preserveAspectRatio="none" aria-hidden="true">
      <rect class="fill-sunken" x="0" y="4" width={WIDTH} height="6" rx="3" />
      {ticks.length > 0 && (
        <rect class={isComplete ? 'fill-soft' : 'fill-part'} x="0" y="4" width={last + 2} height="6" rx="3" />
      )}
      {ticks.map((ms, i) => (
        <rect key={i} class="fill-green" x={toX(ms)} y="0" width="2" height="14" />
      ))}
    </svg>
  )
}

/** The numbers over a column of strips. */
export function StripAxis(): JSX.Element {
  const toX = createLogScale(STRIP_FROM_MS, STRIP_TO_MS, WIDTH - 2)
  return (
    <svg class="strip-axis" viewBox={`0 0 ${WIDTH} 14`} aria-hidden="true">
      {[1, 10, 100, 1000, 10_000].map((ms) => (
        <text
          key={ms}
          x={toX(ms)}
          y="11"
          text-anchor={ms === STRIP_FROM_MS ? 'start' : ms === STRIP_TO_MS ? 'end' : 'middle'}
        >
          {ms === 1 ? '1 ms' : ms < 1000 ? ms : `${ms / 1000} s`}
        </text>
      ))}
    </svg>
  )
}
