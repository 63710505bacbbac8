import { randomBytes } from 'node:crypto'

const SECRET_BYTES = 32
const PREFIX = 'whsec_'

/**
 * A secret that deliveries are signed under, as Standard Webhooks writes it. Shown once, and kept
 * sealed only.
 */
export function createWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The bytes of a secret of our own making. */
export function webhookKey(secret: string): Uint8Array {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}
