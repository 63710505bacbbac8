/**
 * Our profile of RFC 9421: the required form of a holder's request signature, for signing and
 * checking. The lengths and counts limit the work that an unauthenticated caller can cause.
 */
export const PROOF_TAG = 'service-credential'

export const CREDENTIAL_FIELD = 'x-service-credential'
export const CONTENT_DIGEST_FIELD = 'content-digest'

/**
 * Covered by every proof. If present, the credential field and the digest of the body must be
 * covered too.
 */
export const REQUIRED_COMPONENTS = ['@method', '@authority', '@path', '@query'] as const

/**
 * All registered parameters (RFC 9421 §6.3.2). Others are rejected, because they may express
 * conditions that we cannot check.
 */
export const KNOWN_PARAMETERS: ReadonlySet<string> = new Set([
  'alg',
  'created',
  'expires',
  'keyid',
  'nonce',
  'tag',
])

/** Inclusive: a proof is valid for exactly this time after its creation. */
export const PROOF_AGE_MS_MAX = 60_000
/** How far the holder's clock may be ahead of ours, inclusive. */
export const PROOF_AHEAD_MS_MAX = 10_000

/**
 * 22 characters of base64url have the required 128 bits. Base64 and hexadecimal are accepted too.
 */
export const NONCE = /^[A-Za-z0-9+/_.~-]{22,126}={0,2}$/

/** `Signature-Input` and `Signature` together. */
export const SIGNATURE_FIELDS_CHARS_MAX = 4096
export const SIGNATURES_MAX = 8
export const COMPONENTS_MAX = 24
/** The same for Ed25519 and ECDSA P-256 (RFC 9421 §3.3.4: r and s, 32 bytes each). */
export const SIGNATURE_BYTES = 64

/** Methods that need no digest if the request has no body. All others always need one. */
export const BODILESS_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
