const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** A Multikey of Ed25519 around any bytes, sound or not. */
export function multikeyOf(bytes: Uint8Array, codec: readonly number[] = [0xed, 0x01]): string {
  const all = Uint8Array.from([...codec, ...bytes])
  let number = BigInt(`0x${Buffer.from(all).toString('hex')}`)
  let text = ''
  for (; number > 0n; number /= 58n) text = DIGITS[Number(number % 58n)] + text
  return `z${text}`
}
