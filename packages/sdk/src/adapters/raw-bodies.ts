const keptBodies = new WeakMap<object, Uint8Array>()

/**
 * For parsers that run before `requireCredential`: `express.json({ verify: keepRawBody })`,
 * likewise `urlencoded`, `text` and `raw`. Keeps the bytes as they came, for as long as the request
 * lives. A compressed body is kept unpacked and will not match its digest: for those guard first.
 */
export function keepRawBody(request: object, _response: unknown, bytes: Uint8Array): void {
  keptBodies.set(request, bytes)
}

/** What `keepRawBody` has kept of this request. */
export function keptBodyOf(request: object): Uint8Array | undefined {
  return keptBodies.get(request)
}
