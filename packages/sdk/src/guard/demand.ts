import { parseScope, type Scope } from '@countersign/core'
import { requireOptions } from '../shared/require-options.ts'
import type { ResourceMetadata } from './resource-metadata.ts'

type ScopeList = readonly string[]

/**
 * What a route requires: all of `scope`, and one of `anyScope`. A demand names at least one scope.
 */
export type GuardDemand =
  | { readonly scope: string | ScopeList; readonly anyScope?: ScopeList }
  | { readonly scope?: string | ScopeList; readonly anyScope: ScopeList }

/**
 * Marks a demand that `readDemand` has read. A registered symbol, because a framework may load the
 * adapter and the guard from two copies of this module.
 */
const READ = /* @__PURE__ */ Symbol.for('countersign.readDemand')

/** A demand whose scopes have been parsed. Routes create theirs once, not for every request. */
export interface ReadDemand {
  readonly scope: readonly Scope[]
  readonly anyScope?: readonly Scope[]
  /** Choices that later demands have added: one scope of each is needed, too. */
  readonly furtherChoices?: readonly (readonly Scope[])[]
  /** The resource that the route belongs to. Denials refer OAuth clients to its metadata. */
  readonly resource?: ResourceMetadata | undefined
  readonly [READ]: true
}

/**
 * Accepts any valid credential of the site, whatever its scope. It is the same as leaving the
 * demand out, for calls in which another argument follows: `requireCredential(guard,
 * ANY_CREDENTIAL, { bodyBytesMax })`.
 */
export const ANY_CREDENTIAL: GuardDemand & ReadDemand = /* @__PURE__ */ Object.freeze({
  scope: Object.freeze([]),
  [READ]: true as const,
})

/**
 * Parses a demand. Throws a TypeError for everything that is not an object with `scope`, `anyScope`
 * or both, each with at least one valid scope: a mistyped demand must not open the route. The
 * arguments come as a list because a demand that is undefined is a mistake, and one that was left
 * out is not.
 */
export function readDemand(...args: readonly [demand?: GuardDemand]): ReadDemand {
  if (args.length === 0) return ANY_CREDENTIAL
  const demand: unknown = args[0]
  if (isReadDemand(demand)) return demand
  if (typeof demand !== 'object' || demand === null || Array.isArray(demand))
    throw new TypeError(
      `a demand must be an object such as { scope: 'orders:read' }, not ${describe(demand)}. ${HOW_TO_ACCEPT_ANY}`,
    )
  requireOptions<{ scope: unknown; anyScope: unknown }>('a demand', demand, { scope: 'any', anyScope: 'any' })
  const { scope, anyScope } = demand as Readonly<Record<string, unknown>>
  if (!('scope' in demand) && !('anyScope' in demand))
    throw new TypeError(`a demand must name a scope. ${HOW_TO_ACCEPT_ANY}`)
  return {
    scope: 'scope' in demand ? readScopes('scope', typeof scope === 'string' ? [scope] : scope) : [],
    ...('anyScope' in demand && { anyScope: readScopes('anyScope', anyScope) }),
    [READ]: true,
  }
}

/** Both demands as one: all of their scopes, and one of each choice. */
export function addDemands(first: ReadDemand, second: ReadDemand): ReadDemand {
  const [anyScope, ...furtherChoices] = addChoices(listChoices(first), listChoices(second))
  return {
    ...first,
    ...second,
    scope: [...new Set([...first.scope, ...second.scope])],
    ...(anyScope && { anyScope }),
    furtherChoices,
  }
}

function listChoices({ anyScope, furtherChoices = [] }: ReadDemand): (readonly Scope[])[] {
  return anyScope === undefined ? [] : [anyScope, ...furtherChoices]
}

/** Each choice once: a request that goes on may be rechecked any number of times. */
function addChoices(known: readonly (readonly Scope[])[], added: readonly (readonly Scope[])[]) {
  return [...new Map([...known, ...added].map((choice) => [choice.toSorted().join(' '), choice])).values()]
}

const HOW_TO_ACCEPT_ANY = 'To accept any valid credential, leave the demand out or pass ANY_CREDENTIAL.'

function isReadDemand(demand: unknown): demand is ReadDemand {
  return (demand as Partial<ReadDemand> | null | undefined)?.[READ] === true
}

function readScopes(name: string, list: unknown): readonly Scope[] {
  if (!Array.isArray(list))
    throw new TypeError(`${name} must be a scope or a list of scopes, not ${describe(list)}`)
  if (list.length === 0) throw new TypeError(`${name} must name at least one scope. ${HOW_TO_ACCEPT_ANY}`)
  // Not `map`, which would skip the holes of a sparse list.
  return Array.from(list, readScope)
}

function readScope(text: unknown): Scope {
  const scope = parseScope(text)
  if (scope === undefined)
    throw new TypeError(`${JSON.stringify(text)} is not a scope: 1 to 128 of a-z 0-9 _ . : / -`)
  return scope
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
