/** A value that the last two measurements agree on. */
export interface SteadyGauge {
  add(measured: number): void
  value(): number
}

/**
 * The smaller of the last two measurements. A process that stood still for a moment, because it was
 * stopped or got no processor, is not busy any more when it notices: to reject requests for that
 * would come too late.
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
