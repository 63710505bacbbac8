import type { CredentialRow } from './operations/credentials.ts'

/** The name of a row in the list of credentials. It stays right when the row is removed. */
export function toCredentialName({
  knownAtMs,
  credentialId,
}: Pick<CredentialRow, 'knownAtMs' | 'credentialId'>): string {
  return `${knownAtMs} ${credentialId}`
}
