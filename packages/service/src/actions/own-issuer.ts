import type { KeyState, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { allRows } from '../all-rows.ts'
import type { Deps } from '../deps.ts'
import { RowForged } from '../store/errors.ts'
import type { Logged } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Issuer } from '../store/operations/issuers.ts'
import type { Site } from '../store/operations/sites.ts'

const LABEL = 'This service'

/** A command that runs beside the service has no views. */
type OwnIssuerDeps = Pick<Deps, 'store' | 'keys'> & Partial<Pick<Deps, 'views'>>

/**
 * Makes sure that a site knows the service itself as an issuer, with every key that is published. A
 * site gets it at its creation, after a rotation, at every start and, should all that have failed,
 * with the first credential issued for it. What the site has said since stands: an issuer that it
 * distrusts stays distrusted, a key that it has retired or marked as compromised stays so. Doing it
 * again changes nothing.
 */
export async function ensureOwnIssuer(
  deps: OwnIssuerDeps,
  siteId: SiteId,
  context: AuditContext,
): Promise<Logged<Issuer>> {
  const { store, keys, views } = deps
  const issuer = keys.issuerDid
  const knownSeq = views?.lastEntryAbout(siteId, issuer)
  const published: readonly KeyState[] = keys.issuerKeys.map(({ id, key }) => ({
    id,
    key: key.multikey,
    status: 'active',
  }))
  const known = await store.issuer(siteId, issuer)
  if (known === undefined) {
    const added = await store.addIssuer(
      {
        siteId,
        issuer,
        keys: published,
        scope: undefined,
        credentialTtlSecondsMax: undefined,
        label: LABEL,
        fetched: false,
      },
      context,
      undefined,
      knownSeq,
    )
    if (typeof added === 'object') return added
    // Another node was faster. Its keys may be older than ours.
    return ensureOwnIssuer(deps, siteId, context)
  }
  const missing = published.filter(({ id }) => !known.keys.some((key) => key.id === id))
  if (missing.length === 0) return { ...known, position: 0 }
  const room = limits.issuer_keys_max - missing.length
  const stay = known.keys.filter(
    ({ id, status }) => status === 'compromised' || published.some((key) => key.id === id),
  )
  const kept = known.keys.length <= room ? known.keys : stay.slice(-room)
  const changed = await store.changeIssuer(siteId, issuer, { keys: [...kept, ...missing] }, context, knownSeq)
  if (changed === undefined) throw new Error('an issuer has vanished, and issuers never do')
  return changed
}

/**
 * The same for every site there is. Sites with a forged row are passed over; the first `RowForged`
 * is thrown after all others are done.
 */
export async function ensureOwnIssuerEverywhere(deps: OwnIssuerDeps, context: AuditContext): Promise<void> {
  let forged: RowForged | undefined
  const sites = allRows<Site>((last, limit) => deps.store.sites({ after: last?.siteId, limit }))
  for await (const { siteId } of sites)
    await ensureOwnIssuer(deps, siteId, context).catch((fault: unknown) => {
      if (!(fault instanceof RowForged)) throw fault
      forged ??= fault
    })
  if (forged !== undefined) throw forged
}
