import type { Migration } from './migration.ts'

/** Deliveries of a whole site are listed by status, kind and webhook, with their attempts. */
export const deliveryLists: Migration = {
  version: 30,
  common: [
    // The last attempts as JSON, the newest first.
    `ALTER TABLE deliveries ADD COLUMN history TEXT`,
    `CREATE INDEX deliveries_of_site ON deliveries (site_id, created_at, seq, delivery_id)`,
    `CREATE INDEX deliveries_by_kind ON deliveries (site_id, kind, created_at, seq, delivery_id)`,
    `CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, created_at, seq, delivery_id)`,
    // Nearly all deliveries are delivered, and finding them needs no index.
    `CREATE INDEX deliveries_by_status ON deliveries (site_id, status, created_at, seq, delivery_id) WHERE status <> 'delivered'`,
    `CREATE INDEX deliveries_failed_of_webhook ON deliveries (webhook_id, created_at, seq) WHERE status = 'failed'`,
  ],
  sqlite: [],
  postgres: [],
}
