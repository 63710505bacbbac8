/** The polynomial of CRC-32 (RFC 1952), with the coefficient of x^0 in the highest bit. */
const POLYNOMIAL = 0xedb88320
/** The polynomial 1 in the same order of bits. */
const ONE = 0x80000000

/**
 * The CRC-32 of two texts one behind the other, from the CRC-32 of each and the length of the
 * second in bytes. Zlib has this function, and Node does not export it.
 */
export function combineCrc32(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOfX8(secondBytes), first) ^ second) >>> 0
}

/** The product of two polynomials over GF(2), modulo the polynomial of CRC-32. */
function multiply(one: number, other: number): number {
  let product = 0
  let factor = other
  for (let bit = 31; bit >= 0; bit--) {
    if ((one >>> bit) & 1) product ^= factor
    factor = (factor >>> 1) ^ (factor & 1 ? POLYNOMIAL : 0)
  }
  return product >>> 0
}

/** x^8 to the power of `bytes`: what appending so many zero bytes multiplies a CRC by. */
function powerOfX8(bytes: number): number {
  let power = ONE
  let square = ONE >>> 8
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(square, power)
    square = multiply(square, square)
  }
  return power
}
