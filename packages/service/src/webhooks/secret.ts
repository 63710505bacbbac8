import { randomBytes } from 'node:crypto'

const SECRET_BYTES = 32
const PREFIX = 'whsec_'

/**
 * Creates a secret for signing deliveries, in the format of Standard Webhooks. It is shown once,
 * and stored only sealed.
 */
export function createWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The bytes of a secret that `createWebhookSecret` has created. */
export function webhookKey(secret: string): Uint8Array {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}
