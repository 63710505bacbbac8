import { apiKeyEndpoints } from './api-keys.ts'
import { auditEndpoints } from './audit.ts'
import { brandEndpoints } from './brand.ts'
import { consoleEndpoints } from './console.ts'
import { consoleProviderEndpoints } from './console-provider.ts'
import { credentialDetailEndpoints } from './credential-detail.ts'
import { cutOffEndpoints } from './cut-offs.ts'
import { discoveryEndpoints } from './discovery.ts'
import type { Endpoint } from './endpoint.ts'
import { feedEndpoints } from './feed.ts'
import { issuerEndpoints } from './issuers.ts'
import { issuingEndpoints } from './issuing.ts'
import { knownUserEndpoints } from './known-users.ts'
import { nodeEndpoints } from './nodes.ts'
import { operatorKeyEndpoints } from './operator-keys.ts'
import { passkeyEndpoints } from './passkeys.ts'
import { peopleEndpoints } from './people.ts'
import { previewEndpoints } from './preview.ts'
import { protectedEndpoints } from './protected-action.ts'
import { receiptEndpoints } from './receipts.ts'
import { revocationEndpoints } from './revocation.ts'
import { bulkRevocationEndpoints } from './revocations.ts'
import { signInEndpoints } from './sign-in.ts'
import { signalEndpoints } from './signals.ts'
import { siteListEndpoints } from './site-lists.ts'
import { siteLogEndpoints } from './site-log.ts'
import { siteEndpoints } from './sites.ts'
import { summaryEndpoints } from './summary.ts'
import { tokenRevocationEndpoints } from './token-revocation.ts'
import { tokenEndpoints } from './tokens.ts'
import { userEndpoints } from './users.ts'
import { webhookEndpoints } from './webhooks.ts'

/**
 * All endpoints by id. The service mounts and validates with this table; OpenAPI, discovery and the
 * documentation are generated from it.
 */
export const endpoints = Object.freeze({
  ...protectedEndpoints,
  ...tokenEndpoints,
  ...revocationEndpoints,
  ...cutOffEndpoints,
  ...tokenRevocationEndpoints,
  ...bulkRevocationEndpoints,
  ...previewEndpoints,
  ...userEndpoints,
  ...knownUserEndpoints,
  ...credentialDetailEndpoints,
  ...issuingEndpoints,
  ...signInEndpoints,
  ...brandEndpoints,
  ...feedEndpoints,
  ...siteLogEndpoints,
  ...summaryEndpoints,
  ...signalEndpoints,
  ...siteEndpoints,
  ...issuerEndpoints,
  ...apiKeyEndpoints,
  ...operatorKeyEndpoints,
  ...webhookEndpoints,
  ...siteListEndpoints,
  ...auditEndpoints,
  ...peopleEndpoints,
  ...receiptEndpoints,
  ...nodeEndpoints,
  ...consoleEndpoints,
  ...passkeyEndpoints,
  ...consoleProviderEndpoints,
  ...discoveryEndpoints,
})

export type EndpointId = keyof typeof endpoints

export const endpointList: readonly (Endpoint & { readonly id: EndpointId })[] = Object.freeze(
  Object.entries(endpoints).map(([id, facts]: [string, Endpoint]) => ({ ...facts, id: id as EndpointId })),
)
