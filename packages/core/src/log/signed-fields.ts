export const MAX_AGE_SECONDS_MAX = 3600
const KID = /^[A-Za-z0-9._~:=+#%-]{1,256}$/
const SIGNATURE = /^[A-Za-z0-9_-]{86}$/

/** A whole number of seconds, 1 to 3600. */
export function isMaxAgeSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_AGE_SECONDS_MAX
}

/** The name of a feed key. */
export function isKid(value: unknown): value is string {
  return typeof value === 'string' && KID.test(value)
}

/** 64 bytes in base64url. Decoding rejects text that is not canonical. */
export function isSignature(value: unknown): value is string {
  return typeof value === 'string' && SIGNATURE.test(value)
}
