import type { Denial } from '../credential/denial.ts'
import { isPromise } from '../is-promise.ts'

/** Returns a denial, or undefined to continue. Access is granted only after the last check. */
export type Check<Context> = (context: Context) => Denial | undefined | Promise<Denial | undefined>

/**
 * The first denial. Returns a promise only if a check does: a cached verification takes 0.55 µs,
 * with an `await` for each check 2.6 µs.
 */
export function runChecks<Context>(
  checks: readonly Check<Context>[],
  context: Context,
): Denial | undefined | Promise<Denial | undefined> {
  for (let i = 0; i < checks.length; i++) {
    const answer = (checks[i] as Check<Context>)(context)
    if (isPromise(answer)) return runLater(checks, context, answer, i + 1)
    if (answer !== undefined) return answer
  }
  return undefined
}

/** Continues after an asynchronous check, with the check at `next`. */
async function runLater<Context>(
  checks: readonly Check<Context>[],
  context: Context,
  waiting: Promise<Denial | undefined>,
  next: number,
): Promise<Denial | undefined> {
  let denial = await waiting
  for (let i = next; denial === undefined && i < checks.length; i++)
    denial = await (checks[i] as Check<Context>)(context)
  return denial
}
