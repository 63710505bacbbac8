import { apiKeyEndpoints } from './api-keys.ts'
import { discoveryEndpoints } from './discovery.ts'
import type { Endpoint } from './endpoint.ts'
import { feedEndpoints } from './feed.ts'
import { issuerEndpoints } from './issuers.ts'
import { issuingEndpoints } from './issuing.ts'
import { protectedEndpoints } from './protected-action.ts'
import { revocationEndpoints } from './revocation.ts'
import { signInEndpoints } from './sign-in.ts'
import { siteListEndpoints } from './site-lists.ts'
import { siteEndpoints } from './sites.ts'
import { tokenEndpoints } from './tokens.ts'
import { webhookEndpoints } from './webhooks.ts'

/**
 * Every endpoint of the contract by its id. The service mounts it, validates with it and answers
 * with it; OpenAPI, discovery and the documentation are made from it.
 */
export const endpoints = Object.freeze({
  ...protectedEndpoints,
  ...tokenEndpoints,
  ...revocationEndpoints,
  ...issuingEndpoints,
  ...signInEndpoints,
  ...feedEndpoints,
  ...siteEndpoints,
  ...issuerEndpoints,
  ...apiKeyEndpoints,
  ...webhookEndpoints,
  ...siteListEndpoints,
  ...discoveryEndpoints,
})

export type EndpointId = keyof typeof endpoints

/** The same as a list, for those who walk over all of them. */
export const endpointList: readonly (Endpoint & { readonly id: EndpointId })[] = Object.freeze(
  Object.entries(endpoints).map(([id, facts]: [string, Endpoint]) => ({ ...facts, id: id as EndpointId })),
)
