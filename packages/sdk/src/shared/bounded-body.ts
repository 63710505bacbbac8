/** The body of a web-standard `Request` or `Response`. */
export type BodyStream = {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
    cancel(reason?: unknown): Promise<unknown>
  }
}

/**
 * Reads a body to its end. Undefined, and the rest is not read, when it has more than `bytesMax`.
 */
export async function readBoundedBody(
  stream: BodyStream | null,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (stream === null) return new Uint8Array()
  const reader = stream.getReader()
  const parts: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joinBytes(parts, length)
    if (value === undefined) continue
    length += value.length
    if (length > bytesMax) {
      // Not awaited: for a cloned body it resolves only when the other copy is cancelled too.
      reader.cancel().catch(() => undefined)
      return undefined
    }
    parts.push(value)
  }
}

/** `length` is that of all parts together. One part is returned as it is, without a copy. */
export function joinBytes(
  parts: readonly Uint8Array[],
  length = parts.reduce((sum, part) => sum + part.length, 0),
): Uint8Array<ArrayBuffer> {
  if (parts.length === 1) return parts[0] as Uint8Array<ArrayBuffer>
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
