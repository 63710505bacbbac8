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
import { requireSiteId } from './site-id.ts'

/**
 * A site without a service: it trusts the issuer's own statement of its keys and knows no
 * revocations. Use it only to check a credential by itself.
 */
export function createOfflineSite(
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
        : requireSiteId(siteId),
    trusted: true,
    settings: {
      bearer: 'on',
      holderProof: 'optional',
      delegation: 'on',
      credentialTtlSecondsMax: undefined,
    },
    head: { epoch: '', seq: 0, hash: GENESIS_HASH },
    issuer: (did) => (did === trusted?.issuer ? trusted : undefined),
    oauthIssuer: () => undefined,
    subjectKey: undefined,
    credentialRevocation: () => undefined,
    holderRevocation: () => undefined,
    cutOff: () => undefined,
    userRevocation: () => undefined,
    tokenRevocation: () => undefined,
  }
}

/**
 * The issuer with the keys of its DID, or of the given DID document; undefined when there are none.
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
