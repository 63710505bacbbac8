import type { SiteId } from '@countersign/core'
import { read, rows, type Transaction } from '../transaction.ts'
import type { LeaseName, LeaseRow } from './leases.ts'
import { toLease } from './shared/lease-rows.ts'

export interface FormerVerifierPage {
  readonly after: (Pick<LeaseName, 'keyId' | 'instanceId'> & { readonly verifierId: string }) | undefined
  readonly limit: number
}

/** With the columns of a lease that a former verifier does not have. */
const AS_LEASE = `f.*, '' AS node_id, '' AS stream_id, 0 AS node_until, '[]' AS acks, '[]' AS applied, '[]' AS denied, f.connected_at AS declared_at`

/** Instances whose lease ended more than a day ago, by name. */
export const formerVerifiers = read(function* (
  siteId: SiteId,
  state: 'gone' | 'retired',
  { after, limit }: FormerVerifierPage,
): Transaction<readonly LeaseRow[]> {
  const found = yield* rows(
    `SELECT ${AS_LEASE} FROM former_verifiers f WHERE f.site_id = $1 AND f.state = $2
       AND (f.verifier_id, f.key_id, f.instance_id) > ($3, $4, $5) ORDER BY f.verifier_id, f.key_id, f.instance_id LIMIT $6`,
    siteId,
    state,
    after?.verifierId ?? '',
    after?.keyId ?? '',
    after?.instanceId ?? '',
    limit,
  )
  return found.map(toLease)
})

/** The former instances with this id: one for each key that used it, the latest first. */
export const formerVerifiersById = read(function* (
  siteId: SiteId,
  instanceId: string,
): Transaction<readonly LeaseRow[]> {
  const found = yield* rows(
    `SELECT ${AS_LEASE} FROM former_verifiers f WHERE f.site_id = $1 AND f.instance_id = $2 LIMIT 100`,
    siteId,
    instanceId,
  )
  return found.map(toLease).sort((one, other) => other.servedAtMs - one.servedAtMs)
})
