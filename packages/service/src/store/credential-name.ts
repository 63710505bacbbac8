import type { CredentialRow } from './operations/credentials.ts'

/** The name of a row in the list of credentials. It stays right when the row is removed. */
export function toCredentialName({
  knownAtMs,
  credentialId,
}: Pick<CredentialRow, 'knownAtMs' | 'credentialId'>): string {
  return `${knownAtMs} ${credentialId}`
}

/** The same in the list by the end of their validity. */
export function toEndName({
  validUntilMs,
  knownAtMs,
  credentialId,
}: Pick<CredentialRow, 'validUntilMs' | 'knownAtMs' | 'credentialId'>): string {
  return `${validUntilMs} ${knownAtMs} ${credentialId}`
}
