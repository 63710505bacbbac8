import { createGuard } from '@countersign/sdk'
import type { GuardOptions, Ready, Running } from './server.ts'

/** A guard alone in its process, which says how long it took to be ready. */
export async function serveGuard(options: GuardOptions): Promise<Running<Ready<'guard'>>> {
  const startedMs = performance.now()
  const guard = createGuard(options)
  await guard.ready()
  const seconds = (performance.now() - startedMs) / 1000
  return { ready: { port: 0, seconds }, close: () => guard.close() }
}
