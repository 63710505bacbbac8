import { type Demand, parseScope, type Scope } from '@countersign/core'

/** What a route asks for: all of `scope`, and one of `anyScope`. */
export interface GuardDemand {
  readonly scope?: string | readonly string[]
  readonly anyScope?: readonly string[]
}

/** Throws a TypeError for a scope that is none, and for an `anyScope` that nobody could satisfy. */
export function readDemand({ scope = [], anyScope }: GuardDemand): Pick<Demand, 'scope' | 'anyScope'> {
  const all = (typeof scope === 'string' ? [scope] : scope).map(readScope)
  if (anyScope === undefined) return { scope: all }
  if (anyScope.length === 0) throw new TypeError('anyScope must name at least one scope')
  return { scope: all, anyScope: anyScope.map(readScope) }
}

function readScope(text: string): Scope {
  const scope = parseScope(text)
  if (scope === undefined) throw new TypeError(`${JSON.stringify(text)} is no scope: 1 to 128 of a-z 0-9 _ . : / -`)
  return scope
}
