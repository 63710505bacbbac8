import {
  type Credential,
  findDidKeys,
  findRoot,
  GENESIS_HASH,
  parseSiteId,
  readDidDocument,
  type SiteData,
  type SiteId,
  type TrustedIssuer,
} from '@countersign/core'
import { UsageError } from '../command.ts'

/**
 * A site without a service: it believes the issuer about the issuer's keys and knows of no
 * revocation. Only good for seeing whether a credential is sound in itself.
 */
export function offlineSite(
  credential: Credential | undefined,
  siteId: string | undefined,
  didDocument: unknown,
): SiteData {
  const root = credential && findRoot(credential)
  const trusted = root && findIssuer(root.issuer, didDocument)
  return {
    siteId:
      siteId === undefined
        ? ((parseSiteId(credential?.site) ?? 'unknown.invalid') as SiteId)
        : readSite(siteId),
    trusted: true,
    settings: { bearer: 'on', holderProof: 'optional', credentialTtlSecondsMax: undefined },
    head: { epoch: '', seq: 0, hash: GENESIS_HASH },
    issuer: (did) => (did === trusted?.issuer ? trusted : undefined),
    credentialRevocation: () => undefined,
    userRevocation: () => undefined,
    tokenRevocation: () => undefined,
  }
}

function readSite(text: string): SiteId {
  const siteId = parseSiteId(text)
  if (siteId === undefined)
    throw new UsageError(`${JSON.stringify(text)} is not a site: a lower-case host name such as shop.example`)
  return siteId
}

/**
 * With the keys that its DID carries, or that the document given for it lists; undefined when there
 * are none.
 */
function findIssuer(issuer: string, didDocument: unknown): TrustedIssuer | undefined {
  const listed = didDocument === undefined ? findDidKeys(issuer) : documentKeys(didDocument, issuer)
  if (listed === undefined || listed.length === 0) return undefined
  const keys = new Map(
    listed.map(({ id, key }) => [
      `${issuer}#${id}`,
      { id, key, status: 'active' as const, changedAtMs: undefined },
    ]),
  )
  return { issuer, keys, scope: undefined, credentialTtlSecondsMax: undefined }
}

function documentKeys(document: unknown, issuer: string) {
  const read = readDidDocument(document as never, issuer)
  return 'keys' in read ? read.keys : undefined
}
