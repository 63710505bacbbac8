import { randomBytes } from 'node:crypto'
import { parseCredentialId, type SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { createId } from '../keys/ids.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { Problem } from '../problem.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { DrillRow } from '../store/operations/drills.ts'

/**
 * Starts a drill at a site: revokes an id that no credential has. While a drill of the site runs,
 * returns that one. The receipt job writes its report.
 */
export async function startDrill(
  deps: Pick<Deps, 'store' | 'views'>,
  { siteId, reason }: { readonly siteId: SiteId; readonly reason: string | undefined },
  context: AuditContext,
): Promise<DrillRow> {
  const credentialId = parseCredentialId(`cred_drill_${randomBytes(16).toString('hex')}`)
  if (credentialId === undefined) throw new Error('a generated id does not match its grammar')
  const drillId = createId('drill_', Math.floor(context.atMs))
  const drill = await deps.store.startDrill({ siteId, drillId, credentialId, reason }, context)
  await waitForLocalView(deps, drill)
  return drill
}

/** Throws `not_found` when the site has no such drill. */
export async function requireDrill(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  drillId: string,
): Promise<DrillRow> {
  const drill = await store.drill(siteId, drillId)
  if (drill === undefined) throw new Problem('not_found')
  return drill
}
