import type { Ppid } from '../credential/ids.ts'
import { formatTime } from '../encoding/rfc3339.ts'
import type { EntryBodies, EntryKind } from './entry.ts'
import type { RevocationLine } from './snapshot.ts'
import type { SiteView } from './view.ts'

/** The kind and the parsed body of an entry. */
export type EntryContent = {
  readonly [Kind in EntryKind]: { readonly kind: Kind; readonly body: EntryBodies[Kind] }
}[EntryKind]

/**
 * The line of a snapshot or page for an entry. Undefined for entries that `toStateLines` includes.
 * `view` must have the entry; a reinstated user gets the first revocation from it.
 */
export function toRevocationLine(
  { kind, body }: EntryContent,
  view: Pick<SiteView, 'userRevocation'>,
): RevocationLine | undefined {
  switch (kind) {
    case 'user.revoked':
      return { type: 'user', ...body }
    case 'user.signed_out':
      return { type: 'signed_out', ...body }
    case 'credential.revoked':
      return { type: 'credential', ...body }
    case 'token.revoked':
      return { type: 'token', ...body }
    case 'holder.revoked':
      return { type: 'holder', ...body }
    case 'user.reinstated':
      return { type: 'user', ...body, revoked_at: firstRevokedAt(body.ppid, view) ?? body.reinstated_at }
    case 'site.changed':
    case 'site.cut_off':
    case 'issuer.trusted':
    case 'oauth_issuer.trusted':
    case 'issuer.cut_off':
    case 'issuer.distrusted':
    case 'key.retired':
    case 'key.compromised':
      return undefined
    default:
      throw new TypeError(`there is no snapshot line for ${JSON.stringify(kind satisfies never)}`)
  }
}

function firstRevokedAt(ppid: Ppid, view: Pick<SiteView, 'userRevocation'>): string | undefined {
  const firstMs = view.userRevocation(ppid, 0)?.sinceMs
  return firstMs === undefined ? undefined : formatTime(firstMs)
}
