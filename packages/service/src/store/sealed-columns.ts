import type { SiteId } from '@countersign/core'
import { answerPurpose, clientStatePurpose, pairwisePurpose, webhookPurpose } from '../sealing/purposes.ts'
import { text } from './columns.ts'
import type { Row } from './transaction.ts'

/** A column with text that is sealed under the master key. The text opens only for its purpose. */
export interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The primary key, all of it text. */
  readonly key: readonly string[]
  /** Other columns that the purpose is made of. */
  readonly also?: readonly string[]
  readonly toPurpose: (row: Row) => string
  /**
   * For a column that holds several sealed texts, or other data beside them: replaces each text.
   */
  readonly each?: (held: string, replaced: (sealed: string) => string) => string
}

/**
 * All sealed columns. Text in a column that is not listed is lost when the master key changes. A
 * test compares the list with the schema.
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
