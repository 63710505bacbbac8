import * as z from 'zod'
import { CREDENTIAL_CONTEXT, CREDENTIAL_TYPE } from '../credential/credential.ts'
import { holderKey, permissionId, ppid, scopeList, time } from './fields.ts'
import { limits } from './limits.ts'
import { coded } from './validation.ts'

const [VC_CONTEXT, ACCESS_CONTEXT] = CREDENTIAL_CONTEXT
const [VC_TYPE, ACCESS_TYPE] = CREDENTIAL_TYPE

const proof = z
  .looseObject({
    type: z.literal('DataIntegrityProof'),
    cryptosuite: z
      .string()
      .meta({ description: 'One of the suites that discovery lists.', examples: ['eddsa-jcs-2022'] }),
    proofPurpose: z.literal('assertionMethod'),
    created: time,
    verificationMethod: z.string().meta({ examples: ['did:web:issuer.example#key-1'] }),
    proofValue: z.string().meta({ description: 'Multibase, base58btc.' }),
  })
  .meta({ description: 'Exactly one Data Integrity proof over the whole object.' })

const credentialSubject = z.looseObject({
  id: ppid,
  site_id: z.string().meta({ description: 'The site of the credential; compared byte by byte.' }),
  scope: scopeList,
  permission_id: permissionId.optional(),
  holder_key: holderKey
    .optional()
    .meta({ description: 'If present, every request must be signed with this key (RFC 9421).' }),
  delegable: z
    .boolean()
    .optional()
    .meta({ description: 'Whether the holder may delegate narrower credentials. Default false.' }),
})

/**
 * Documents the signed credential: a W3C Verifiable Credential 2.0 with a Data Integrity proof.
 * Credentials are never validated with this schema but with the parser of the core. Unknown members
 * are allowed if the signature covers them, and ignored.
 */
export const accessCredentialSchema = z
  .looseObject({
    '@context': z.tuple([z.literal(VC_CONTEXT), z.literal(ACCESS_CONTEXT)]),
    id: z
      .templateLiteral(['did:service:', z.string()])
      .meta({ description: 'did:service: and the credential_id.' }),
    type: z.tuple([z.literal(VC_TYPE), z.literal(ACCESS_TYPE)]),
    issuer: z.string().meta({
      description: 'The DID of the issuer; of a delegated credential, the holder_key of its parent.',
    }),
    validFrom: time,
    validUntil: time.meta({ description: 'The credential is invalid from this time.' }),
    credentialSubject,
    proof,
    get parent(): z.ZodOptional<z.ZodType> {
      return z
        .optional(accessCredentialSchema)
        .meta({ description: 'The complete credential that this one was delegated from.' })
    },
  })
  .meta({ id: 'AccessCredential', description: 'A signed access credential.' })

/** The members of a signed credential, as JSON. */
export type AccessCredential = z.input<typeof accessCredentialSchema>

/**
 * The `credential` member of a request: any object. Anything else is `credential_malformed`. The
 * parser of the core checks the members.
 */
export const presentedCredentialSchema = coded<Record<string, unknown>>(
  'credential_malformed',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be the signed credential as a JSON object',
  {
    type: 'object',
    description: `The signed credential (see AccessCredential) exactly as issued, at most ${limits.credential_bytes_max} bytes as sent.`,
  },
)
