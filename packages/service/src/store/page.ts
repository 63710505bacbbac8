/**
 * A page of a list in its fixed order: at most `limit` rows after the row named `after`, which may
 * have been removed since. A row is named by its id: site_id, issuer, key_id, webhook_id, jti,
 * person_id, session_id or audit id; in `credentials` by `toCredentialName`; in `fetchedIssuers` by
 * site_id, a space and the issuer; a delivery by its seq. Credentials, audit rows and deliveries
 * come newest first.
 */
export interface Page {
  readonly after: string | undefined
  readonly limit: number
}
