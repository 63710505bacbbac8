/**
 * A page of a list in its fixed order: at most `limit` rows after the row named `after`, which may
 * have been removed since. A row is named by its id: site_id, issuer, key_id, webhook_id,
 * credential_id, jti or audit id; in `fetchedIssuers` by site_id, a space and the issuer; a
 * delivery by its seq. Audit rows and deliveries come newest first.
 */
export interface Page {
  readonly after: string | undefined
  readonly limit: number
}
