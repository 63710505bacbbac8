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
 * Adds the service as an issuer of a site, with every published key. This runs when the site is
 * created, after a rotation, at every start and, if all that has failed, when the first credential
 * is issued for the site. It does not override the site: a distrusted issuer stays distrusted, and
 * a retired or compromised key stays so. Idempotent.
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
    // Another node was faster, possibly with older keys.
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
 * The same for all sites. Sites with a forged row are skipped; the first `RowForged` is thrown
 * after the others are done.
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
