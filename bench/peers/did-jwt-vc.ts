import { EdDSASigner } from 'did-jwt'
import { createVerifiableCredentialJwt, type JwtCredentialPayload, verifyCredential } from 'did-jwt-vc'
import type { DIDResolutionResult } from 'did-resolver'
import type { Subject } from '../measure.ts'
import { describeLength, ISSUER, inTurn, METHOD, type Sample, several } from '../sample.ts'
import { requireRejectsTampered, tamperedJwt } from './reject-tampered.ts'

/** `verifyCredential` with a resolver that answers from memory. */
export async function didJwtVcSubject(sample: Sample): Promise<Subject> {
  const tokens = await several(100, (n) => createToken(sample, n))
  const resolver = { resolve: async () => resolution(sample) }
  const accepts = async (text: string) => (await verifyCredential(text, resolver)).verified
  await requireRejectsTampered('did-jwt-vc', tokens[0], tamperedJwt, accepts)
  const next = inTurn(tokens)
  return {
    name: 'did-jwt-vc',
    note: `verifyCredential, EdDSA, ${describeLength(tokens[0])}`,
    async run(times) {
      for (let i = 0; i < times; i++) if (!(await accepts(next()))) throw new Error('did-jwt-vc refused')
    },
  }
}

/**
 * The library moves what has a registered claim out of the credential, and knows only the first
 * version of the data model.
 */
async function createToken(sample: Sample, n: number): Promise<string> {
  const { '@context': context, type, id, credentialSubject } = await sample.credential(n)
  const signer = EdDSASigner(Buffer.from(sample.privateJwk.d, 'base64url'))
  const payload = {
    vc: {
      '@context': ['https://www.w3.org/2018/credentials/v1', ...(context as string[]).slice(1)],
      type: type as string[],
      credentialSubject,
    },
    sub: (credentialSubject as { id: string }).id,
    jti: id as string,
    nbf: sample.validFromMs / 1000,
    exp: sample.validUntilMs / 1000,
  }
  return createVerifiableCredentialJwt(payload as JwtCredentialPayload, { did: ISSUER, signer, alg: 'EdDSA' })
}

function resolution({ key }: Sample): DIDResolutionResult {
  const method = {
    id: METHOD,
    type: 'Ed25519VerificationKey2020',
    controller: ISSUER,
    publicKeyMultibase: key.publicKey.multikey,
  }
  return {
    didResolutionMetadata: {},
    didDocumentMetadata: {},
    didDocument: {
      id: ISSUER,
      verificationMethod: [method],
      assertionMethod: [METHOD],
      authentication: [METHOD],
    },
  }
}
