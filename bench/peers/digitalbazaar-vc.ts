import { CREDENTIAL_CONTEXT, credentialHeader, type JsonObject } from '@countersign/core'
// The peer packages bring no types.
// @ts-expect-error
import { DataIntegrityProof } from '@digitalbazaar/data-integrity'
// @ts-expect-error
import * as Ed25519Multikey from '@digitalbazaar/ed25519-multikey'
// @ts-expect-error
import { createVerifyCryptosuite } from '@digitalbazaar/eddsa-jcs-2022-cryptosuite'
// @ts-expect-error
import { cryptosuite as rdfcSuite } from '@digitalbazaar/eddsa-rdfc-2022-cryptosuite'
// @ts-expect-error
import * as vc from '@digitalbazaar/vc'
import type { Subject } from '../measure.ts'
import { describeLength, ISSUER, inTurn, METHOD, type Sample, several } from '../sample.ts'
import { requireRejectsTampered } from './reject-tampered.ts'

/**
 * `verifyCredential` of the very headers that we verify, and of the same credentials signed over
 * RDF. Every document comes from memory.
 */
export async function digitalbazaarSubjects(sample: Sample): Promise<Subject[]> {
  const documentLoader = loaderFor(sample)
  const subject = async (
    name: string,
    headers: readonly string[],
    cryptosuite: unknown,
  ): Promise<Subject> => {
    const suite = new DataIntegrityProof({ cryptosuite })
    const accepts = async (header: string): Promise<boolean> => {
      const credential = JSON.parse(Buffer.from(header, 'base64url').toString())
      return (await vc.verifyCredential({ credential, suite, documentLoader })).verified
    }
    await requireRejectsTampered(name, headers[0], withAnotherId, accepts)
    const next = inTurn(headers)
    return {
      name,
      note: `verifyCredential, ${describeLength(headers[0])}`,
      async run(times) {
        for (let i = 0; i < times; i++) if (!(await accepts(next()))) throw new Error(`${name} refused`)
      },
    }
  }
  const overRdf = (n: number) => headerOverRdf(sample, n, documentLoader)
  return [
    await subject(
      '@digitalbazaar/vc, eddsa-jcs-2022',
      await several(1000, sample.header),
      createVerifyCryptosuite(),
    ),
    await subject('@digitalbazaar/vc, eddsa-rdfc-2022', await several(100, overRdf), rdfcSuite),
  ]
}

function withAnotherId(header: string): string {
  const credential: JsonObject = JSON.parse(Buffer.from(header, 'base64url').toString())
  return credentialHeader({ ...credential, id: 'did:service:cred_another00000000' })
}

type Loader = (url: string) => Promise<{ contextUrl: null; documentUrl: string; document: unknown }>

async function headerOverRdf(sample: Sample, n: number, documentLoader: Loader): Promise<string> {
  const { proof: _, ...credential } = await sample.credential(n)
  const key = await Ed25519Multikey.fromJwk({
    jwk: sample.privateJwk,
    secretKey: true,
    id: METHOD,
    controller: ISSUER,
  })
  const suite = new DataIntegrityProof({
    signer: key.signer(),
    date: new Date(sample.validFromMs),
    cryptosuite: rdfcSuite,
  })
  return credentialHeader(await vc.issue({ credential, suite, documentLoader }))
}

function loaderFor({ key }: Sample): Loader {
  const method = {
    id: METHOD,
    type: 'Multikey',
    controller: ISSUER,
    publicKeyMultibase: key.publicKey.multikey,
  }
  const documents = new Map<string, unknown>([
    [CREDENTIAL_CONTEXT[1], accessContext],
    [METHOD, { '@context': 'https://w3id.org/security/multikey/v1', ...method }],
    [
      ISSUER,
      {
        '@context': 'https://www.w3.org/ns/did/v1',
        id: ISSUER,
        verificationMethod: [method],
        assertionMethod: [METHOD],
      },
    ],
  ])
  return async (url) => {
    const document = documents.get(url)
    return document === undefined
      ? vc.defaultDocumentLoader(url)
      : { contextUrl: null, documentUrl: url, document }
  }
}

const TERMS = 'https://w3id.org/countersign/access#'
const accessContext = {
  '@context': {
    '@protected': true,
    AccessCredential: `${TERMS}AccessCredential`,
    site_id: `${TERMS}site_id`,
    scope: { '@id': `${TERMS}scope`, '@container': '@set' },
    permission_id: `${TERMS}permission_id`,
    holder_key: { '@id': `${TERMS}holder_key`, '@type': '@id' },
    delegable: `${TERMS}delegable`,
    parent: { '@id': `${TERMS}parent`, '@type': '@id', '@container': '@graph' },
  },
}
