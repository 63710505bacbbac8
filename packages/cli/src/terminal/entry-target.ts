/** What a log entry is about, in one line: a user, a credential, an issuer, or settings. */
export function entryTarget(body: object): string {
  const { ppid, credential_id, token_sha256, thumbprint, issuer, key_id } = body as Readonly<
    Record<string, string | undefined>
  >
  return (
    ppid ??
    credential_id ??
    token_sha256 ??
    thumbprint ??
    (issuer && [issuer, key_id].filter(Boolean).join(' ')) ??
    settingsText(body)
  )
}

function settingsText(body: object): string {
  return Object.entries(body)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
