/**
 * Writes the 64-bit HalfSipHash-1-3 of a text, from character `start`, to `out`. The key has two
 * 32-bit words; without it an attacker cannot find texts that collide. Only for tables in memory,
 * not for message authentication. Each character is hashed as one byte, since ids are ASCII. Other
 * texts that differ only in the upper bits of a character may have the same hash.
 */
export function keyedHash(text: string, start: number, key0: number, key1: number, out: Int32Array): void {
  const length = text.length - start
  let v0 = key0 | 0
  let v1 = key1 ^ 0xee
  let v2 = key0 ^ 0x6c796765
  let v3 = key1 ^ 0x74656462

  // The round is written out twice. A function would have to return four numbers, which allocates.
  const whole = start + (length & ~3)
  const rest = length & 3
  let i = start
  let word: number
  for (;;) {
    if (i < whole) {
      word =
        text.charCodeAt(i) |
        (text.charCodeAt(i + 1) << 8) |
        (text.charCodeAt(i + 2) << 16) |
        (text.charCodeAt(i + 3) << 24)
    } else {
      word = length << 24
      if (rest > 2) word |= text.charCodeAt(whole + 2) << 16
      if (rest > 1) word |= text.charCodeAt(whole + 1) << 8
      if (rest > 0) word |= text.charCodeAt(whole)
    }
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
    if (i >= whole) break
    i += 4
  }

  v2 ^= 0xee
  for (let half = 0; half < 2; half++) {
    for (let round = 0; round < 3; round++) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    out[half] = v1 ^ v3
    v1 ^= 0xdd
  }
}
