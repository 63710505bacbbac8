import * as z from 'zod'
import { siteId } from './fields.ts'
import { auditActorTypes } from './vocabulary.ts'

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

/** Common to all endpoints of operators. */
export const operating = { ...administration, auth: 'operator_key', permissions: [] } as const

/** Who made a change. */
export const actorSchema = z.strictObject({
  type: z.enum(auditActorTypes),
  id: z
    .string()
    .nullable()
    .meta({ description: 'key_id, credential_id or the issuer of a signal; never a secret.' }),
})

export const siteParams = { site_id: siteId }
