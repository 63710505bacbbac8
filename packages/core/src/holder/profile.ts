/**
 * Our profile of RFC 9421: what a holder's signature of a request must look like. Maker and checker
 * both read it here. All lengths and counts are limits on what an unknown caller may make us work
 * on before anything is proven.
 */
export const PROOF_TAG = 'service-credential'

export const CREDENTIAL_FIELD = 'x-service-credential'
export const CONTENT_DIGEST_FIELD = 'content-digest'

/**
 * Covered by every proof. The credential field joins them when it is sent, the content digest when
 * there is a body.
 */
export const REQUIRED_COMPONENTS = ['@method', '@authority', '@path', '@query'] as const

/**
 * RFC 9421 §6.3.2: every registered parameter. One that we do not know might be a condition that we
 * cannot keep, so it is refused.
 */
export const KNOWN_PARAMETERS: ReadonlySet<string> = new Set([
  'alg',
  'created',
  'expires',
  'keyid',
  'nonce',
  'tag',
])

/**
 * A proof that was created exactly this long ago is still good; one millisecond later it is not.
 */
export const PROOF_AGE_MS_MAX = 60_000
/** How far the holder's clock may run ahead of ours, likewise inclusive. */
export const PROOF_AHEAD_MS_MAX = 10_000

/**
 * 22 characters of base64url hold the 128 bits that we ask for. Base64 and hexadecimal are welcome
 * too.
 */
export const NONCE = /^[A-Za-z0-9+/_.~-]{22,126}={0,2}$/

/** Of `Signature-Input` and `Signature` together. */
export const SIGNATURE_FIELDS_CHARS_MAX = 4096
export const SIGNATURES_MAX = 8
export const COMPONENTS_MAX = 24
/** Ed25519 and ECDSA P-256 (RFC 9421 §3.3.4: r and s, 32 bytes each) happen to agree. */
export const SIGNATURE_BYTES = 64

/**
 * Requests of these methods are signed without a digest when they have no body; all others always
 * with one.
 */
export const BODILESS_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
