import * as z from 'zod'
import {
  type CredentialId,
  type PermissionId,
  type Ppid,
  parseCredentialId,
  parsePermissionId,
  parsePpid,
  parseScope,
  parseSiteId,
  type Scope,
  type SiteId,
} from '../credential/ids.ts'
import { parseTime } from '../encoding/rfc3339.ts'
import { parseSiteHost } from '../holder/site-host.ts'
import { limits } from './limits.ts'
import { isLine, isVisible } from './text.ts'
import { coded, codedText } from './validation.ts'

/**
 * A text that `parse` accepts. The pattern is for documentation; a test keeps it equal to the
 * parser.
 */
function parsed<T extends string>(
  parse: (value: unknown) => unknown,
  message: string,
  documented: z.core.GlobalMeta & { pattern: string },
) {
  return z
    .string()
    .refine((value) => parse(value) !== undefined, message)
    .meta(documented) as z.ZodType as z.ZodType<T, string>
}

const PORT = '(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'

export const siteHost = parsed<string>(
  parseSiteHost,
  'must be a lower-case host name, with its port unless it is 80 or 443',
  {
    pattern: `^(?:${LABEL}\\.)*${LABEL}(?::${PORT})?$`,
    maxLength: 253,
    description:
      'A host that holders sign in their requests, with its port. The ports 80 and 443 can be omitted.',
    examples: ['api.shop.example', 'api.shop.example:8443'],
  },
)

export const siteId = parsed<SiteId>(parseSiteId, 'must be a lower-case host name such as shop.example', {
  pattern: `^(?:${LABEL}\\.)*${LABEL}$`,
  maxLength: 253,
  description: 'A site: a canonical lower-case host name, compared byte by byte.',
  examples: ['shop.example'],
})

export const ppid = parsed<Ppid>(parsePpid, 'must have the form did:service:ppid_<id>', {
  pattern: '^did:service:ppid_[A-Za-z0-9_-]{8,128}$',
  description: 'A user at one site: a pairwise pseudonymous identifier.',
  examples: ['did:service:ppid_4xk2p7q9d3m6w8zn'],
})

export const credentialId = parsed<CredentialId>(parseCredentialId, 'must have the form cred_<id>', {
  pattern: '^cred_[A-Za-z0-9_-]{8,64}$',
  description: 'A credential.',
  examples: ['cred_01k9x3v0h2e8y6q4b7d5m1n8ra'],
})

export const permissionId = parsed<PermissionId>(
  parsePermissionId,
  'must be 1 to 64 of A-Z a-z 0-9 _ . : -',
  {
    pattern: '^[A-Za-z0-9_.:-]{1,64}$',
    description:
      'The site’s name for the permission behind a credential; perm_default if a credential names none.',
    examples: ['perm_orders'],
  },
)

export const scope = parsed<Scope>(parseScope, 'must be 1 to 128 of a-z 0-9 _ . : / -', {
  pattern: '^[a-z0-9_.:/-]{1,128}$',
  description: 'One scope value. Scopes match exactly; there are no wildcards.',
  examples: ['orders:read'],
})

const unique = (list: readonly unknown[]) => new Set(list).size === list.length

/** A list of scopes in a response. May be empty. */
export const scopeList = z
  .array(scope)
  .max(limits.scope_list_max)
  .refine(unique, 'must not contain duplicates')
  .meta({ uniqueItems: true, examples: [['orders:read', 'orders:write']] })

/** A list of scopes in a request, with at least one. */
export const someScopes = z
  .array(scope)
  .min(1)
  .max(limits.scope_list_max)
  .refine(unique, 'must not contain duplicates')
  .meta({ uniqueItems: true, examples: [['orders:read']] })

export const time = parsed<string>(parseTime, 'must be an RFC 3339 time in UTC with Z', {
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d{1,9})?Z$',
  format: 'date-time',
  examples: ['2026-11-14T12:00:00Z'],
})

/**
 * One printable line, without control characters, line separators, lone surrogates or bidirectional
 * overrides. The length is in code points.
 */
export function line(charsMax: number, description: string, charsMin = 0) {
  return z
    .string()
    .refine(
      (value) => value.length >= charsMin && isLine(value, charsMax),
      `must be one printable line of ${charsMin} to ${charsMax} characters`,
    )
    .meta({ ...(charsMin > 0 ? { minLength: charsMin } : {}), maxLength: charsMax, description })
}

/** A name by which people recognise something: some of it must be visible. */
export function shownName(charsMax: number, description: string) {
  return z
    .string()
    .refine(
      (value) => isLine(value, charsMax) && isVisible(value),
      `must be one printable line of 1 to ${charsMax} characters, not only blanks`,
    )
    .meta({ minLength: 1, maxLength: charsMax, description })
}

export const reason = line(
  limits.reason_chars_max,
  'The reason given by the caller. Stored and shown to the site, never sent on the feed.',
)
export const userRef = line(
  limits.user_ref_chars_max,
  'The site’s own id of the user. The ppid is derived from it; the id itself is not stored.',
  1,
)
export const siteName = shownName(limits.name_chars_max, 'A name for people.')
/** The name of any issuer, of credentials or of access tokens. */
export const issuerName = line(limits.did_chars_max, 'An issuer of this site.', 1)
export const label = line(limits.label_chars_max, 'A name for people.')

/** A lifetime in seconds. Every invalid value, also of another type, is `ttl_out_of_range`. */
export function ttlSeconds(min: number, max: number, standard: number) {
  return coded<number>(
    'ttl_out_of_range',
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    `must be an integer from ${min} to ${max}`,
    {
      type: 'integer',
      minimum: min,
      maximum: max,
      description: `Lifetime in seconds. Default: ${standard}.`,
    },
  )
}

export const credentialTtlSecondsMax = z
  .int()
  .min(limits.credential_lifetime_seconds_min)
  .max(limits.credential_lifetime_seconds_max)
  .meta({ description: 'The maximum lifetime of a credential in seconds.' })

const DID = /^did:(?:key:z[1-9A-HJ-NP-Za-km-z]+|jwk:[A-Za-z0-9_-]+|web:[A-Za-z0-9.%:_-]+)$/

/** A did:key, did:jwk or did:web. Its key is checked later. */
export const issuerDid = z
  .string()
  .max(limits.did_chars_max)
  .regex(DID, 'must be a did:key, did:jwk or did:web')
  .meta({ description: 'The DID of an issuer.', examples: ['did:web:issuer.example'] })

export const multikey = codedText(
  'key_rejected',
  (value) => /^z[1-9A-HJ-NP-Za-km-z]{40,100}$/.test(value),
  'must be a Multikey such as z6Mk…',
  {
    pattern: '^z[1-9A-HJ-NP-Za-km-z]{40,100}$',
    description: 'A public key, Ed25519 or P-256, in Multikey form.',
  },
)

export const holderKey = codedText(
  'key_rejected',
  (value) => /^did:key:z[1-9A-HJ-NP-Za-km-z]{40,100}$/.test(value),
  'must be a did:key such as did:key:z6Mk…',
  {
    pattern: '^did:key:z[1-9A-HJ-NP-Za-km-z]{40,100}$',
    description: 'The key that must sign every request made with the credential.',
  },
)

/** The fragment of a verificationMethod. */
export const issuerKeyId = z
  .string()
  .regex(/^[A-Za-z0-9._~:=+-]{1,128}$/, 'must be the fragment of a verificationMethod')
  .meta({ description: 'A key of an issuer: the fragment of its verificationMethod.', examples: ['key-1'] })

/** Ids created by the service: keys, webhooks, deliveries, tokens, audit rows. */
export const madeId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be an id from this service')
  .meta({ examples: ['key_01k9x3v0h2e8y6q4b7d5m1n8ra'] })

/** 256 random bits in base64url: states, codes and offers. */
export const RANDOM_256 = '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$'
export const isRandom256 = (value: string) => new RegExp(RANDOM_256).test(value)

export const thumbprint = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'must be an RFC 7638 thumbprint (SHA-256, base64url)')
  .meta({ description: 'The RFC 7638 thumbprint of a public key: SHA-256 in base64url.' })

/** What was presented: a credential with those it was delegated from. */
export const chainMembers = {
  credential_chain: z
    .array(credentialId)
    .min(1)
    .max(limits.delegation_depth_max + 1)
    .meta({ description: 'The credential and the credentials it was delegated from, the root last.' }),
  holder_thumbprints: z
    .array(thumbprint)
    .max(limits.delegation_depth_max + 1)
    .meta({ description: 'The holder keys that these credentials are bound to.' }),
}

export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex')
export const feedKid = z
  .string()
  .regex(/^[A-Za-z0-9._~:=+#%-]{1,256}$/)
  .meta({ description: 'The feed key (see discovery) that signed.' })
export const feedSignature = z
  .string()
  .regex(/^[A-Za-z0-9_-]{86}$/)
  .meta({ description: 'Ed25519, base64url.' })
export const epoch = z
  .string()
  .regex(/^[0-9a-z]{8,32}$/, 'must be 8 to 32 of 0-9 a-z')
  .meta({
    description: 'The epoch of the log. A restored store starts a new one.',
    examples: ['m3x9q2k7v5t1'],
  })
export const seq = z
  .int()
  .min(0)
  .meta({ description: 'The number of entries in the log of the site up to this position.' })

const SEQ = '(?:0|[1-9][0-9]{0,15})'
const POSITION = new RegExp(`^([0-9a-z]{8,32})\\.(${SEQ})$`)

/** A log position, written as `epoch.seq`. */
export function parseFeedCursor(
  value: unknown,
): { readonly epoch: string; readonly seq: number } | undefined {
  const [, inEpoch, digits] = (typeof value === 'string' && POSITION.exec(value)) || []
  if (inEpoch === undefined || digits === undefined || !Number.isSafeInteger(Number(digits))) return undefined
  return { epoch: inEpoch, seq: Number(digits) }
}

export const feedCursor = codedText(
  'cursor_malformed',
  (value) => parseFeedCursor(value) !== undefined,
  'must have the form epoch.seq',
  {
    pattern: POSITION.source,
    examples: ['m3x9q2k7v5t1.42'],
  },
)

/** A query parameter with an integer. Parses digits to a number. */
export function integerParameter(min: number, max: number) {
  return z
    .string()
    .regex(/^(?:0|[1-9][0-9]{0,15})$/, 'must be an integer')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
}

/** OpenID Connect Core §3.1.2.1. Unknown languages are ignored. */
export const uiLocales = z
  .string()
  .max(limits.ui_locales_chars_max)
  .regex(/^[A-Za-z0-9-]+(?: [A-Za-z0-9-]+)*$/, 'must be language tags separated by one space')
  .optional()
  .meta({
    description:
      'The languages for the page, the preferred one first, for example "de en". Default: what the browser prefers.',
  })
