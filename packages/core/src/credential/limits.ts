/** What a credential may weigh. Size and depth are checked before anything else is done with it. */
export const CREDENTIAL_HEADER_CHARS_MAX = 8192
export const CREDENTIAL_BYTES_MAX = 6144
/** The outermost object counts as one. */
export const JSON_DEPTH_MAX = 16
/** Of one object in a credential. */
export const CREDENTIAL_MEMBERS_MAX = 256
/** Of one object in the body of a request, outside of a credential. */
export const BODY_MEMBERS_MAX = 64
/** Counted in `parent` links: a root alone is 0, so at most four signatures are checked. */
export const DELEGATION_DEPTH_MAX = 3
/**
 * How far `validFrom` and `proof.created` may lie ahead of our clock. There is no leeway at the end
 * of a life.
 */
export const VALID_FROM_LEEWAY_MS = 10_000
/** No site can allow a longer life than this. */
export const CREDENTIAL_LIFETIME_SECONDS_MAX = 366 * 86_400
