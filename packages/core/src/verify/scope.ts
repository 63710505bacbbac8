import { type Denial, deny } from '../credential/denial.ts'
import type { Scope } from '../credential/ids.ts'
import type { Demand } from './demand.ts'

/** The part of `scope` that the site lets the issuer grant. An undefined `cap` allows all of it. */
export function limitScope(scope: readonly Scope[], cap: ReadonlySet<Scope> | undefined): readonly Scope[] {
  return cap === undefined || scope.every((s) => cap.has(s)) ? scope : scope.filter((s) => cap.has(s))
}

/**
 * Scopes match exactly. A caller without any scope is denied, even if the route requires none.
 */
export function checkScopeGranted(
  held: readonly Scope[],
  { scope, anyScope }: Pick<Demand, 'scope' | 'anyScope'>,
): Denial | undefined {
  const enough =
    held.length > 0 &&
    scope.every((s) => held.includes(s)) &&
    (anyScope === undefined || anyScope.some((s) => held.includes(s)))
  if (enough) return undefined
  const requiredScope = anyScope === undefined ? scope : [...scope, ...anyScope]
  return {
    ...deny(
      'scope_insufficient',
      'The credential does not have the required scope. Request one that has it from its issuer.',
    ),
    requiredScope,
  }
}
