import { type Denial, deny } from '../credential/denial.ts'
import type { Scope } from '../credential/ids.ts'
import type { Demand } from './demand.ts'

/**
 * What is left of a scope when the site lets its issuer grant only `cap`. Scopes only ever get
 * fewer.
 */
export function scopeWithin(scope: readonly Scope[], cap: ReadonlySet<Scope> | undefined): readonly Scope[] {
  return cap === undefined || scope.every((s) => cap.has(s)) ? scope : scope.filter((s) => cap.has(s))
}

/**
 * Exact matches only. A caller with no scope at all may do nothing, even where a route asks for
 * none.
 */
export function scopeFault(
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
      'the credential does not have the scope that is needed here; ask its issuer for more',
    ),
    requiredScope,
  }
}
