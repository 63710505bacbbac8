/** The properties of the global object that identify a runtime. */
export interface RuntimeGlobals {
  readonly navigator?: { readonly userAgent?: unknown } | undefined
  readonly WebSocketPair?: unknown
  readonly caches?: { readonly default?: unknown } | undefined
}

/**
 * Whether this runtime ends what a request began together with that request, as Cloudflare Workers
 * do. A guard follows the feed in the background of all requests: there the feed would end with the
 * first of them, and later requests could not use what it opened.
 */
export function isRequestBound(globals: RuntimeGlobals): boolean {
  if (globals.navigator?.userAgent === 'Cloudflare-Workers') return true
  return globals.WebSocketPair !== undefined && globals.caches?.default !== undefined
}

/** Throws where a guard cannot work. */
export function requireLongLivedRuntime(globals: RuntimeGlobals = globalThis as RuntimeGlobals): void {
  if (!isRequestBound(globals)) return
  throw new Error(
    'createGuard needs a process that stays alive between requests (Node, Bun, Deno). This runtime ends connections with the request that opened them ' +
      '(Cloudflare Workers), so a guard could not follow revocations. Verify in front of the worker, or ask GET /api/auth/verify of the service.',
  )
}
