import { parseScope, type Scope } from '@countersign/core'

/** What a route asks for: all of `scope`, and one of `anyScope`. */
export interface GuardDemand {
  readonly scope?: string | readonly string[]
  readonly anyScope?: readonly string[]
}

/** A demand whose scopes have been read. Routes make theirs once, not for every request. */
export class ReadDemand implements GuardDemand {
  readonly scope: readonly Scope[]
  readonly anyScope?: readonly Scope[]

  constructor(scope: readonly Scope[], anyScope: readonly Scope[] | undefined) {
    this.scope = scope
    if (anyScope !== undefined) this.anyScope = anyScope
  }
}

/** Throws a TypeError for a scope that is none, and for an `anyScope` that nobody could satisfy. */
export function readDemand(demand: GuardDemand): ReadDemand {
  if (demand instanceof ReadDemand) return demand
  const { scope = [], anyScope } = demand
  if (anyScope?.length === 0) throw new TypeError('anyScope must name at least one scope')
  return new ReadDemand((typeof scope === 'string' ? [scope] : scope).map(readScope), anyScope?.map(readScope))
}

function readScope(text: string): Scope {
  const scope = parseScope(text)
  if (scope === undefined) throw new TypeError(`${JSON.stringify(text)} is no scope: 1 to 128 of a-z 0-9 _ . : / -`)
  return scope
}
