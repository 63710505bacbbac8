/** The status of a credential according to the service. */
export type CredentialStatus = 'active' | 'revoked' | 'expired' | 'unknown'

const IDS_MAX = 100

type Statuses = Record<string, { readonly status: CredentialStatus } | undefined>

/** The answer to a question that was asked before. */
export interface EarlyStatuses {
  readonly url: string
  /** Undefined: the service answered with a problem. */
  readonly statuses?: Statuses
}

/**
 * Loads the status of credentials, unless it was asked for early. Undefined where the service did
 * not answer in time: this browser may be offline, or the service too slow. Throws nothing.
 */
export async function loadStatuses(
  ids: readonly string[],
  waitMs: number,
  early?: EarlyStatuses,
): Promise<ReadonlyMap<string, CredentialStatus>> {
  const found = new Map<string, CredentialStatus>()
  for (let at = 0; at < ids.length; at += IDS_MAX) {
    const some = ids.slice(at, at + IDS_MAX)
    // In the order of the browser's own storage, which is that of the early question.
    const query = new URLSearchParams(some.toSorted().map((id) => ['credential_ids', id]))
    const url = `/api/wallet/revocation-status?${query}`
    const loaded = (early?.url === url ? early.statuses : undefined) ?? (await ask(url, waitMs))
    for (const id of some) {
      const status = loaded?.[id]?.status
      if (status !== undefined) found.set(id, status)
    }
  }
  return found
}

async function ask(url: string, waitMs: number): Promise<Statuses | undefined> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), waitMs)
  try {
    const options = { credentials: 'omit', cache: 'no-store', signal: abort.signal } as const
    const response = await fetch(url, options)
    return response.ok ? ((await response.json()) as { statuses: Statuses }).statuses : undefined
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
