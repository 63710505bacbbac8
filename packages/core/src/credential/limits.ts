/** Size and depth are checked before anything else. */
export const CREDENTIAL_HEADER_CHARS_MAX = 8192
export const CREDENTIAL_BYTES_MAX = 6144
/** Nested objects and arrays, including the outermost object. */
export const JSON_DEPTH_MAX = 16
/** Members of one object in a credential. */
export const CREDENTIAL_MEMBERS_MAX = 256
/** Members of one object in a request body, outside of a credential. */
export const BODY_MEMBERS_MAX = 64
/** The number of `parent` links: 0 for a root, so at most four signatures are checked. */
export const DELEGATION_DEPTH_MAX = 3
/** How far `validFrom` and `proof.created` may be ahead of our clock. Expiry has no leeway. */
export const VALID_FROM_LEEWAY_MS = 10_000
/** The longest lifetime that a site can allow. */
export const CREDENTIAL_LIFETIME_SECONDS_MAX = 366 * 86_400
