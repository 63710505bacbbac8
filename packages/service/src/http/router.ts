import { limits } from '@countersign/core/contract'
import FindMyWay, { type HTTPMethod } from 'find-my-way'

/** A method and a path, and what they lead to. */
export interface RouterEntry<Target> {
  readonly method: HTTPMethod
  /** As in the contract: `{name}` is one segment, and `*` at the end is the rest. */
  readonly path: string
  readonly target: Target
  /** The target of GET is also the target of HEAD (RFC 9110 §9.3.2), unless this is false. */
  readonly hasHead: boolean
}

/** Finds the target of a method and a URL. */
export interface Router<Target> {
  /** Undefined when there is no target, or the URL cannot be decoded. `params` are decoded. */
  find(method: string, url: string): { readonly target: Target; readonly params: unknown } | undefined
  /** The methods that have a target at this URL; none when nothing is there. */
  methods(url: string): readonly string[]
}

export function createRouter<Target>(entries: readonly RouterEntry<Target>[]): Router<Target> {
  const router = findIndexRouter(entries)
  // The other forms of a request target, such as `*`, have no target (RFC 9112 §3.2).
  const find = (method: string, url: string) =>
    url.startsWith('/') ? router.find(method as HTTPMethod, url) : null
  const added = new Set(entries.flatMap(toMethods))
  return {
    find(method, url) {
      const found = find(method, url)
      if (found === null) return undefined
      const { index } = found.store as Indexed
      const { target } = entries[index] as RouterEntry<Target>
      return { target, params: found.params }
    },
    methods: (url) =>
      [...added].filter((method) => {
        const params = find(method, url)?.params
        // An empty segment or a wildcard matches paths that do not exist.
        return params !== undefined && !('*' in params) && !Object.values(params).includes('')
      }),
  }
}

/** In an object, because the router takes a stored 0 for no value. */
interface Indexed {
  readonly index: number
}

type IndexRouter = ReturnType<typeof FindMyWay>

/** By the methods and paths of their entries, in this order. */
const indexRouters = new Map<string, IndexRouter>()
const INDEX_ROUTERS_MAX = 8

/**
 * A router whose targets are indexes of `entries`. All lists with the same methods and paths share
 * it: to build it for all endpoints takes 8 ms, and a test file opens many nodes.
 */
function findIndexRouter(entries: readonly RouterEntry<unknown>[]): IndexRouter {
  const key = JSON.stringify(entries.map(({ method, path, hasHead }) => [method, path, hasHead]))
  const known = indexRouters.get(key)
  if (known !== undefined) return known
  const router = FindMyWay({
    // A DID in a path is longer than the default allows. The URL has its own limit.
    maxParamLength: limits.url_bytes_max,
    // The pipeline parses the query.
    querystringParser: () => NO_QUERY,
  })
  for (const [index, entry] of entries.entries()) {
    const store: Indexed = { index }
    router.on(toMethods(entry), entry.path.replaceAll(/\{(\w+)\}/g, ':$1'), noHandler, store)
  }
  if (indexRouters.size === INDEX_ROUTERS_MAX) indexRouters.clear()
  indexRouters.set(key, router)
  return router
}

function toMethods({ method, hasHead }: RouterEntry<unknown>): HTTPMethod[] {
  return method === 'GET' && hasHead ? ['GET', 'HEAD'] : [method]
}

const NO_QUERY = Object.freeze({})

/** The router wants a handler for each path; only its `store` is used here. */
function noHandler(): void {}
