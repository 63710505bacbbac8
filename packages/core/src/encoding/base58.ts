// Our own instead of @scure/base: half the time for a signature (3.9 instead of 7.1 µs) and half
// the bytes. See decision 59.
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/**
 * The longest text that is decoded. Keys and signatures need fewer than 100 characters, and the
 * cost grows with the square.
 */
export const BASE58_CHARS_MAX = 256
const BYTES_MAX = 186

// Several digits are processed at once. 58^4 times 2^26, plus a carry, stays far below 2^53, so
// plain numbers are exact.
const DIGITS_PER_GROUP = 4
const GROUP = 58 ** DIGITS_PER_GROUP
const LIMB = 2 ** 24
const ONE_LIMBTH = 2 ** -24
const BYTES_PER_LIMB = 3
/** 58^1 to 58^4, for a last group that is not full. */
const POWERS_OF_58 = [1, 58, 58 ** 2, 58 ** 3, GROUP] as const

// One buffer for all calls, which is safe because both functions are synchronous; it halves the
// time. 256 digits fill 63 limbs, 186 bytes fill 64 groups.
const scratch = /* @__PURE__ */ new Float64Array(64)

const NOT_A_DIGIT = 255
const DIGITS = /* @__PURE__ */ (() => {
  const table = new Uint8Array(128).fill(NOT_A_DIGIT)
  for (let i = 0; i < ALPHABET.length; i++) table[ALPHABET.charCodeAt(i)] = i
  return table
})()

/**
 * Undefined for a character outside the Bitcoin alphabet or for more than 256 characters. Accepts
 * only canonical text: `encodeBase58` returns the same text, if the result is not too long for it.
 */
export function decodeBase58(text: string): Uint8Array | undefined {
  const { length } = text
  if (length > BASE58_CHARS_MAX) return undefined
  let zeros = 0
  while (zeros < length && text.charCodeAt(zeros) === 0x31) zeros++

  let limbs = 0 // How many are in use, the least significant first.
  let position = zeros
  while (position < length) {
    const end = Math.min(position + DIGITS_PER_GROUP, length)
    const factor = POWERS_OF_58[end - position] as number
    let carry = 0
    for (; position < end; position++) {
      const digit = DIGITS[text.charCodeAt(position)]
      if (digit === undefined || digit === NOT_A_DIGIT) return undefined
      carry = carry * 58 + digit
    }
    // Each limb gets the carry of the one before it, and may then be up to 3.1 times LIMB. So no
    // step waits for another: 1.2 µs for a signature instead of 1.8.
    for (let i = 0; i < limbs; i++) {
      const product = (scratch[i] as number) * factor
      const high = Math.floor(product * ONE_LIMBTH)
      scratch[i] = product - high * LIMB + carry
      carry = high
    }
    if (carry > 0) scratch[limbs++] = carry
  }
  limbs = carryAll(limbs)

  const top = limbs === 0 ? 0 : (scratch[limbs - 1] as number)
  const topBytes = top > 0xffff ? 3 : top > 0xff ? 2 : top > 0 ? 1 : 0
  const bytes = new Uint8Array(zeros + Math.max(0, limbs - 1) * BYTES_PER_LIMB + topBytes)
  let at = bytes.length
  for (let i = 0; i < limbs; i++) {
    const limb = scratch[i] as number
    bytes[--at] = limb
    // The top limb may be short; what would fall outside of its bytes is zero.
    if (at > zeros) bytes[--at] = limb >>> 8
    if (at > zeros) bytes[--at] = limb >>> 16
  }
  return bytes
}

/** Makes every limb less than LIMB, and returns how many there are then. */
function carryAll(limbs: number): number {
  let carry = 0
  for (let i = 0; i < limbs; i++) {
    const value = (scratch[i] as number) + carry
    carry = Math.floor(value * ONE_LIMBTH)
    scratch[i] = value - carry * LIMB
  }
  if (carry === 0) return limbs
  scratch[limbs] = carry
  return limbs + 1
}

/** Throws a TypeError for more than 186 bytes, whose text `decodeBase58` could reject. */
export function encodeBase58(bytes: Uint8Array): string {
  const { length } = bytes
  if (length > BYTES_MAX) throw new TypeError(`base58 is for at most ${BYTES_MAX} bytes, not ${length}`)
  let zeros = 0
  while (zeros < length && bytes[zeros] === 0) zeros++

  let groups = 0 // How many are in use, the least significant first.
  let position = zeros
  while (position < length) {
    const end = Math.min(position + BYTES_PER_LIMB, length)
    const factor = 256 ** (end - position)
    let carry = 0
    for (; position < end; position++) carry = carry * 256 + (bytes[position] as number)
    for (let i = 0; i < groups; i++) {
      const value = (scratch[i] as number) * factor + carry
      carry = Math.floor(value / GROUP)
      scratch[i] = value - carry * GROUP
    }
    // 2^24 is more than 58^4, so one limb can leave two groups.
    while (carry > 0) {
      scratch[groups++] = carry % GROUP
      carry = Math.floor(carry / GROUP)
    }
  }

  let text = ''
  for (let i = 0; i < groups; i++) {
    let group = scratch[i] as number
    const last = i === groups - 1
    for (let digit = 0; digit < DIGITS_PER_GROUP && !(last && group === 0); digit++) {
      text = ALPHABET[group % 58] + text
      group = Math.floor(group / 58)
    }
  }
  return '1'.repeat(zeros) + text
}
