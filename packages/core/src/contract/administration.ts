import { siteId } from './fields.ts'

/** What all endpoints of administration have in common. */
export const administration = {
  tag: 'administration',
  auth: 'api_key',
  permissions: ['site:admin'],
  rateLimit: 'caller',
  noStore: true,
} as const

/** The path of everything under a site. */
export const siteParams = { site_id: siteId }
