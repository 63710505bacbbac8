const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/**
 * Undefined unless the bytes are well-formed UTF-8. A byte order mark is kept, and the JSON parser
 * rejects it.
 */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text)
}
