import { limits } from '@countersign/core/contract'
import FindMyWay, { type HTTPMethod } from 'find-my-way'

/** Finds the target of a method and a URL. */
export interface Router<Target> {
  /**
   * `path` is written as in the contract: `{name}` is one segment, and `*` at the end is the rest.
   * The target of GET is also the target of HEAD (RFC 9110 §9.3.2), unless `hasHead` is false.
   */
  add(method: HTTPMethod, path: string, target: Target, hasHead?: boolean): void
  /** Undefined when there is no target, or the URL cannot be decoded. `params` are decoded. */
  find(method: string, url: string): { readonly target: Target; readonly params: unknown } | undefined
  /** The methods that have a target at this URL; none when nothing is there. */
  methods(url: string): readonly string[]
}

export function createRouter<Target>(): Router<Target> {
  const added = new Set<string>()
  const router = FindMyWay({
    // A DID in a path is longer than the default allows. The URL has its own limit.
    maxParamLength: limits.url_bytes_max,
    // The pipeline parses the query.
    querystringParser: () => NO_QUERY,
  })
  // The other forms of a request target, such as `*`, have no target (RFC 9112 §3.2).
  const find = (method: string, url: string) =>
    url.startsWith('/') ? router.find(method as HTTPMethod, url) : null
  return {
    add(method, path, target, hasHead = true) {
      const methods: HTTPMethod[] = method === 'GET' && hasHead ? ['GET', 'HEAD'] : [method]
      for (const one of methods) added.add(one)
      router.on(methods, path.replaceAll(/\{(\w+)\}/g, ':$1'), noHandler, target)
    },
    find(method, url) {
      const found = find(method, url)
      return found === null ? undefined : { target: found.store, params: found.params }
    },
    methods: (url) =>
      [...added].filter((method) => {
        const params = find(method, url)?.params
        // An empty segment or a wildcard matches paths that do not exist.
        return params !== undefined && !('*' in params) && !Object.values(params).includes('')
      }),
  }
}

const NO_QUERY = Object.freeze({})

/** The router wants a handler for each path; only its `store` is used here. */
function noHandler(): void {}
