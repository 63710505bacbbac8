/**
 * Throws unless the peer accepts the valid text and rejects the tampered one, by its result or by
 * an exception. A library that does not verify must not appear in the results.
 */
export async function requireRejectsTampered(
  name: string,
  good: string | undefined,
  tamper: (good: string) => string,
  accepts: (text: string) => boolean | Promise<boolean>,
): Promise<void> {
  if (good === undefined || !(await accepts(good))) throw new Error(`${name} rejects what it should accept`)
  let accepted: boolean
  try {
    accepted = await accepts(tamper(good))
  } catch {
    accepted = false
  }
  if (accepted) throw new Error(`${name} accepts a tampered signature`)
}

/** The JWT with one bit of its signature changed. */
export function tamperedJwt(jwt: string): string {
  const dot = jwt.lastIndexOf('.') + 1
  const signature = Buffer.from(jwt.slice(dot), 'base64url')
  signature[5] = (signature[5] ?? 0) ^ 1
  return jwt.slice(0, dot) + signature.toString('base64url')
}
