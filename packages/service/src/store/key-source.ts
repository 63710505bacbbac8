/**
 * The name of the document that an issuer's keys are fetched from: a DID, an OAuth issuer whose
 * metadata is looked up, or an OAuth issuer and the URL of its key set. All sites share it.
 */
export function toKeySource({
  issuer,
  oauth,
}: {
  readonly issuer: string
  readonly oauth?: { readonly jwks_uri: string | null } | undefined
}): string {
  const url = oauth?.jwks_uri ?? null
  return url === null ? issuer : `${issuer} ${url}`
}
