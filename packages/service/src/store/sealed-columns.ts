import type { SiteId } from '@countersign/core'
import { text } from './columns.ts'
import type { IdempotencyKey } from './store.ts'
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

/**
 * Under this name and for this purpose lies a text that tells nothing but the master key which the
 * store is sealed under.
 */
export const MASTER_KEY_SEAL = 'master-key'

/** For which a site's pairwise secret is sealed: it opens as no other site's. */
export function pairwisePurpose(siteId: SiteId): string {
  return `pairwise:${siteId}`
}

/** For which the kept answer to a request is sealed: it opens for that very request only. */
export function answerPurpose({ owner, sha256, requestSha256 }: IdempotencyKey): string {
  return `answer:${owner}:${sha256}:${requestSha256}`
}

/**
 * For which a webhook's secrets are sealed: they open as no other webhook's, nor at another site.
 */
export function webhookPurpose(siteId: SiteId, webhookId: string): string {
  return `webhook:${siteId}:${webhookId}`
}

/** For which the integration's own state is sealed: it opens for this sign-in only. */
export function clientStatePurpose(stateSha256: string): string {
  return `sign-in:${stateSha256}`
}
