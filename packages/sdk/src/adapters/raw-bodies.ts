import { createPrivateSlot } from '../shared/private-slot.ts'

const rawBodies = /* @__PURE__ */ createPrivateSlot<Uint8Array>()

/**
 * For parsers that run before `requireCredential`: `express.json({ verify: captureRawBody })`,
 * likewise `urlencoded`, `text` and `raw`. Keeps the raw bytes for as long as the request exists. A
 * compressed body is kept uncompressed and does not match its digest: guard such routes before the
 * parser.
 */
export function captureRawBody(request: object, _response: unknown, bytes: Uint8Array): void {
  rawBodies.set(request, bytes)
}

/** The bytes that `captureRawBody` kept for this request. */
export function findRawBody(request: object): Uint8Array | undefined {
  return rawBodies.get(request)
}
