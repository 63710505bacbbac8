import type { SiteId } from '@countersign/core'
import { answerPurpose, clientStatePurpose, pairwisePurpose, webhookPurpose } from '../sealing/purposes.ts'
import { text } from './columns.ts'
import type { Row } from './transaction.ts'

/**
 * A column whose texts are sealed under the master key, and what for: a text opens for its own
 * purpose only.
 */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The primary key, all of it text. */
  readonly key: readonly string[]
  /** What else the purpose is made of. */
  readonly also?: readonly string[]
  readonly toPurpose: (row: Row) => string
  /**
   * For a column that holds several texts, or something beside them: the same with each text
   * replaced.
   */
  readonly each?: (held: string, replaced: (sealed: string) => string) => string
}

/**
 * All of them: what is not here is lost when the master key is changed. A test holds the list
 * against the schema.
 */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'secrets', column: 'sealed', key: ['name'], toPurpose: (row) => text(row, 'name') },
  {
    table: 'sites',
    column: 'pairwise_secret_sealed',
    key: ['site_id'],
    toPurpose: (row) => pairwisePurpose(text(row, 'site_id') as SiteId),
  },
  {
    table: 'idempotency_keys',
    column: 'sealed',
    key: ['owner', 'sha256'],
    also: ['request_sha256'],
    toPurpose: (row) =>
      answerPurpose({
        owner: text(row, 'owner'),
        sha256: text(row, 'sha256'),
        requestSha256: text(row, 'request_sha256'),
      }),
  },
  {
    table: 'webhooks',
    column: 'secrets',
    key: ['webhook_id'],
    also: ['site_id'],
    toPurpose: (row) => webhookPurpose(text(row, 'site_id') as SiteId, text(row, 'webhook_id')),
    each: (held, replaced) =>
      JSON.stringify(
        (JSON.parse(held) as { sealed: string }[]).map((secret) => ({
          ...secret,
          sealed: replaced(secret.sealed),
        })),
      ),
  },
  {
    table: 'sign_ins',
    column: 'client_state_sealed',
    key: ['state_sha256'],
    toPurpose: (row) => clientStatePurpose(text(row, 'state_sha256')),
  },
]
