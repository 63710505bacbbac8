/**
 * One fault from outside, with what must be true all the same. The suite runs each scenario once;
 * `npm run faults` and `npm run feed-faults` run them as often as they are told to.
 */
export interface FaultScenario {
  /** The finding or attack that the scenario repeats, such as `B6`. */
  readonly finding: string
  readonly name: string
  /** What went wrong, in sentences. Empty when the protection worked. */
  run(): Promise<readonly string[]>
  /**
   * The same fault without the protection: at least one sentence, or the scenario proves nothing.
   */
  control(): Promise<readonly string[]>
}

/**
 * Runs one scenario and its control arm. Returns what went wrong, empty when both arms did what
 * they should.
 */
export async function playScenario({ run, control }: FaultScenario): Promise<readonly string[]> {
  const faults = await run()
  const seen = await control()
  return seen.length > 0 ? faults : [...faults, 'the control arm saw no fault: the check is blind']
}
