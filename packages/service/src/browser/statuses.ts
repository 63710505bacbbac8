/** The status of a credential according to the service. */
export type CredentialStatus = 'active' | 'revoked' | 'expired' | 'unknown'

const IDS_MAX = 100

/**
 * Loads the status of credentials. Undefined where the service did not answer in time: this
 * browser may be offline, or the service too slow. Throws nothing.
 */
export async function loadStatuses(
  ids: readonly string[],
  waitMs: number,
): Promise<ReadonlyMap<string, CredentialStatus>> {
  const found = new Map<string, CredentialStatus>()
  for (let at = 0; at < ids.length; at += IDS_MAX) {
    const some = ids.slice(at, at + IDS_MAX)
    const loaded = await ask(some, waitMs)
    for (const id of some) {
      const status = loaded?.[id]?.status
      if (status !== undefined) found.set(id, status)
    }
  }
  return found
}

async function ask(
  ids: readonly string[],
  waitMs: number,
): Promise<Record<string, { readonly status: CredentialStatus } | undefined> | undefined> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), waitMs)
  try {
    const query = new URLSearchParams(ids.map((id) => ['credential_ids', id]))
    const options = { credentials: 'omit', cache: 'no-store', signal: abort.signal } as const
    const response = await fetch(`/api/wallet/revocation-status?${query}`, options)
    return response.ok
      ? ((await response.json()) as { statuses: Record<string, { status: CredentialStatus }> }).statuses
      : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
