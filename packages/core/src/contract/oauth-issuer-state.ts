import * as z from 'zod'
import { parseKeyText } from '../log/oauth-issuer.ts'
import { scope, someScopes, thumbprint, time } from './fields.ts'
import { limits } from './limits.ts'
import { issuerKeyStatuses } from './vocabulary.ts'

const text = z.string().min(1).max(512)
const LIST_MAX = 64
const isShort = (record: object) => Object.keys(record).length <= LIST_MAX
const unique = (list: readonly unknown[]) => new Set(list).size === list.length

export const claimName = z.string().regex(/^[^\s"\\\p{Cc}\p{Cs}]{1,128}$/u, 'must be the name of a claim')

export const oauthIssuerUrl = z
  .string()
  .max(limits.did_chars_max)
  .regex(
    /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?$/,
    'must be the https URL of an OAuth issuer, without query and fragment',
  )
  .meta({ description: 'Compared with iss of every token, character by character.' })

export const audience = z
  .array(text)
  .min(1)
  .max(LIST_MAX)
  .refine(unique, 'must not contain duplicates')
  .meta({ description: 'One of these must be in aud of a token.' })
export const clientIds = z
  .array(text)
  .min(1)
  .max(LIST_MAX)
  .refine(unique, 'must not contain duplicates')
  .nullable()
  .meta({ description: 'Accept only tokens of these clients (client_id or azp). Null: of all.' })
export const requiredClaims = z
  .record(text, z.union([text, z.int(), z.boolean()]))
  .refine(isShort, `must have at most ${LIST_MAX} claims`)
  .meta({ description: 'Claims that must have exactly these values.' })
export const requireAtJwt = z
  .boolean()
  .meta({ description: 'Accept only tokens with typ at+jwt (RFC 9068).' })
export const scopeMap = z
  .record(text, z.array(scope).max(limits.scope_list_max).refine(unique, 'must not contain duplicates'))
  .refine(isShort, `must have at most ${LIST_MAX} scopes`)
  .meta({ description: 'Scopes of the site by the scope that the issuer writes.' })
export const tokenTtlSecondsMax = z
  .int()
  .min(1)
  .max(86_400)
  .meta({ description: 'Reject tokens that live longer.' })

const keyState = z
  .strictObject({
    id: thumbprint,
    kid: text.nullable(),
    key: z
      .string()
      .refine((key) => parseKeyText(key) !== undefined, 'must be a JWK with its alg, as canonical JSON')
      .meta({ description: 'The JWK with its alg, as canonical JSON.' }),
    status: z.enum(issuerKeyStatuses),
    retired_at: time.optional().meta({ description: 'Present if and only if the status is retired.' }),
  })
  .refine((key) => (key.status === 'retired') === (key.retired_at !== undefined), {
    path: ['retired_at'],
    message: 'goes with status retired',
  })

/** What the log states about an OAuth issuer. */
export const oauthIssuerState = {
  type: z.literal('oauth'),
  issuer: oauthIssuerUrl,
  keys: z
    .array(keyState)
    .max(16)
    .refine((keys) => unique(keys.map(({ id }) => id)), 'must not name a key twice'),
  audience,
  client_ids: clientIds,
  required_claims: requiredClaims,
  require_at_jwt: requireAtJwt,
  scope: someScopes.nullable(),
  scope_claim: claimName,
  scope_map: scopeMap,
  session_claim: claimName.nullable(),
  subject_claim: claimName,
  token_ttl_seconds_max: tokenTtlSecondsMax,
  user_ref_from_subject: z.boolean().meta({ description: 'The subject is the user_ref of the site.' }),
}
