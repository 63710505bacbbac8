/**
 * Throws unless the peer accepts the good text and refuses it spoiled, by its answer or by a throw.
 * Who does not verify cannot compete.
 */
export async function proveHonest(
  name: string,
  good: string | undefined,
  spoil: (good: string) => string,
  accepts: (text: string) => boolean | Promise<boolean>,
): Promise<void> {
  if (good === undefined || !(await accepts(good))) throw new Error(`${name} refuses what it should accept`)
  let accepted: boolean
  try {
    accepted = await accepts(spoil(good))
  } catch {
    accepted = false
  }
  if (accepted) throw new Error(`${name} accepts a spoiled signature`)
}

/** The JWT with one bit of its signature changed. */
export function spoiledJwt(jwt: string): string {
  const dot = jwt.lastIndexOf('.') + 1
  const signature = Buffer.from(jwt.slice(dot), 'base64url')
  signature[5] = (signature[5] ?? 0) ^ 1
  return jwt.slice(0, dot) + signature.toString('base64url')
}
