/**
 * A page of a list in its fixed order: at most `limit` rows after the row that `after` names, which
 * may have gone since. A row's name is its id: site_id, issuer, key_id, webhook_id, credential_id,
 * jti, audit id; of `fetchedIssuers`, site_id, a space and the issuer; of a delivery, its seq.
 * Audit rows and deliveries come newest first.
 */
export interface Page {
  readonly after: string | undefined
  readonly limit: number
}
