import type { Client } from '@countersign/sdk'
import type { NamedUser } from '../input/user.ts'

interface Known {
  /** For people. */
  readonly details: readonly string[]
  /** For programs. */
  readonly plan: Readonly<Record<string, unknown>>
}

const SHOWN_MAX = 200

/** What a revocation would end. Empty if the API key may revoke but not list. */
export async function previewRevocation(
  client: Pick<Client, 'listCredentials' | 'listTokens' | 'resolveUser'>,
  site_id: string,
  user: NamedUser,
): Promise<Known> {
  try {
    const { users } =
      user.ppid === undefined
        ? await client.resolveUser({ site_id, ...user })
        : { users: [{ ppid: user.ppid }] }
    // Only the first has credentials; the others are ids of access tokens, which are not recorded.
    const ppid = users[0]?.ppid
    const [credentials, tokens] = await Promise.all([
      client.listCredentials({ site_id, ppid, status: 'active', limit: SHOWN_MAX }),
      client.listTokens({ site_id, ppid, limit: SHOWN_MAX }),
    ])
    const ids = credentials.items.map(({ credential_id }) => credential_id)
    const live = tokens.items.filter(({ status }) => status === 'active').length
    const more = credentials.next_cursor === null ? '' : ' or more'
    return {
      details: [
        `${ids.length}${more} known active ${ids.length === 1 ? 'credential' : 'credentials'}, ${live} live ${live === 1 ? 'token' : 'tokens'}.`,
      ],
      plan: { credential_ids: ids, tokens: live },
    }
  } catch (fault) {
    if (fault instanceof Error && 'status' in fault && fault.status === 403) return { details: [], plan: {} }
    throw fault
  }
}
