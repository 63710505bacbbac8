/**
 * The part of Node's Buffer that is used if it exists. It decodes a header of 1,320 characters in
 * 0.7 µs; JavaScript takes 115 µs.
 */
interface BufferLike {
  from(text: string, encoding: 'base64url'): Uint8Array & Encodable
  from(buffer: ArrayBufferLike, offset: number, length: number): Encodable
}
interface Encodable {
  toString(encoding: 'base64url'): string
}
const buffer = (globalThis as { Buffer?: BufferLike }).Buffer

/** Base64url without padding. */
export function encodeBase64url(bytes: Uint8Array): string {
  return buffer === undefined
    ? encodeWithoutBuffer(bytes)
    : buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}

/**
 * Undefined unless the text is canonical base64url: the right alphabet, no padding, no unused bits
 * set. Node's decoder ignores invalid characters, so the result is encoded again and compared.
 */
export function decodeBase64url(text: string): Uint8Array | undefined {
  if (buffer === undefined) return decodeWithoutBuffer(text)
  const bytes = buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

function encodeWithoutBuffer(bytes: Uint8Array): string {
  let characters = ''
  for (const byte of bytes) characters += String.fromCharCode(byte)
  return btoa(characters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** `atob` accepts spaces, padding and unused bits, so the result is encoded again and compared. */
function decodeWithoutBuffer(text: string): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    )
    return encodeWithoutBuffer(bytes) === text ? bytes : undefined
  } catch {
    return undefined
  }
}
