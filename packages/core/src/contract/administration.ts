import { siteId } from './fields.ts'

/** Common to all administration endpoints. */
export const administration = {
  tag: 'administration',
  auth: 'api_key',
  permissions: ['site:admin'],
  rateLimit: 'caller',
  noStore: true,
} as const

export const siteParams = { site_id: siteId }
