/** A value that ignores single outliers. */
export interface SteadyGauge {
  add(measured: number): void
  value(): number
}

/**
 * The smaller of the last two measurements. A process that was paused for a moment is no longer
 * busy when it measures that, so a single high value must not reject requests.
 */
export function createSteadyGauge(): SteadyGauge {
  let [before, last] = [0, 0]
  return {
    add(measured) {
      ;[before, last] = [last, measured]
    },
    value: () => Math.min(before, last),
  }
}
