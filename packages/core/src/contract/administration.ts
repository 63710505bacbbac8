import { siteId } from './fields.ts'

/** Common to all administration endpoints. */
export const administration = {
  tag: 'administration',
  auth: 'api_key',
  permissions: ['site:admin'],
  rateLimit: 'caller',
  noStore: true,
} as const

/**
 * Common to all endpoints that show the data of a site and change nothing. `site:read` gives no
 * secret, no feed and no power to change; `site:admin` includes it.
 */
export const reading = { ...administration, permissions: ['site:read', 'site:admin'] } as const

export const siteParams = { site_id: siteId }
