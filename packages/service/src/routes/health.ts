import { Problem } from '../problem.ts'
import type { Route } from '../route.ts'

export const alive: Route<'alive'> = async () => ({ status: 200, body: { status: 'alive' } })

/** On the admin listener only. */
export const metrics: Route<'metrics'> = async (_request, { meters }) => ({
  status: 200,
  body: await meters.text(),
  contentType: meters.contentType,
})

/**
 * Whether this node accepts requests. The reason is in the log only.
 */
export const ready: Route<'ready'> = async (_request, { views, store, log }) => {
  const readiness = views.readiness()
  if (!readiness.ready) {
    log.warn({ why: readiness.why }, 'not ready')
    throw new Problem('revocation_view_stale', 'This node is not ready. Send requests to another one.')
  }
  const why = store.writeFault()
  if (why === undefined) return { status: 200, body: { status: 'ready', audited: views.audited } }
  log.warn({ why }, 'not ready')
  throw new Problem(
    'store_unavailable',
    `This node cannot write to its store, so nothing can be revoked here: ${why}.`,
  )
}
