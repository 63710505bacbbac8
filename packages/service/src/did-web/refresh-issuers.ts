import type { DidKey } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { nextKeyStates, sameKeyStates } from '../keys/issuer-keys.ts'
import type { Act, Issuer } from '../store/store.ts'

type RefreshDeps = Pick<Deps, 'store' | 'didWeb' | 'clock' | 'log'>

const ROWS_A_PAGE = 200
const EVERY_MS = 10 * 60_000

/**
 * Fetches the documents of all trusted `did:web` issuers once, and tells the sites that trust them what has changed.
 *
 * - A new key counts from now on; one that the site has retired or condemned stays so.
 * - A key that is no longer in the document counts for nothing any more, also for what it signed before: its owner may have taken it out because
 *   it leaked, and whoever has it can write any date. A site that knows better can pin it.
 * - A document that cannot be fetched or read changes nothing, and is logged. One that names no keys at all is a statement like any other.
 *
 * Rejects when the store cannot be asked.
 */
export async function refreshIssuers(deps: RefreshDeps, signal?: AbortSignal): Promise<void> {
  const { store, didWeb, log } = deps
  const fetched = new Map<string, readonly DidKey[] | undefined>()
  for (let after: string | undefined; ; ) {
    const issuers = await store.fetchedIssuers({ after, limit: ROWS_A_PAGE })
    for (const { siteId, issuer, status } of issuers) {
      if (signal?.aborted) return
      if (status !== 'trusted') continue
      if (!fetched.has(issuer)) {
        const answer = await didWeb.fetch(issuer)
        fetched.set(issuer, 'fault' in answer ? undefined : answer.keys)
        if ('fault' in answer)
          log.warn({ issuer, fault: answer.fault, err: answer.cause }, 'a DID document could not be refreshed; its old keys stay')
      }
      const keys = fetched.get(issuer)
      // Read again: what the site has said while we were asking elsewhere goes before.
      const now = await store.issuer(siteId, issuer)
      if (keys !== undefined && now !== undefined) await tellSite(deps, now, keys)
    }
    const last = issuers.at(-1)
    if (issuers.length < ROWS_A_PAGE || last === undefined) return
    after = `${last.siteId} ${last.issuer}`
  }
}

async function tellSite({ store, clock, log }: RefreshDeps, issuer: Issuer, keys: readonly DidKey[]): Promise<void> {
  if (issuer.status !== 'trusted' || !issuer.fetched) return
  const next = nextKeyStates(issuer.keys, keys)
  const about = { site_id: issuer.siteId, issuer: issuer.issuer }
  if (next === undefined) return log.warn(about, 'a DID document has too many keys, with the compromised ones; its old keys stay')
  if (sameKeyStates(issuer.keys, next)) return
  const act: Act = { actor: 'system', atMs: clock.nowMs(), requestId: undefined }
  await store.changeIssuer(issuer.siteId, issuer.issuer, { keys: next, whileFetched: true }, act)
  log.info({ ...about, keys: next.map(({ id, status }) => `${id} ${status}`) }, 'the keys of a did:web have changed')
}

/** Refreshes all issuers about every ten minutes, with jitter, so that many nodes do not knock at once. Failures are logged and tried again. */
export function startIssuerRefresh(deps: RefreshDeps, everyMs: number = EVERY_MS): { close(): Promise<void> } {
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const plan = () => {
    timer = setTimeout(
      () => {
        running = refreshIssuers(deps, stop.signal)
          .catch((err: unknown) => deps.log.warn({ err }, 'the issuers could not be refreshed'))
          .finally(() => {
            if (!stop.signal.aborted) plan()
          })
      },
      everyMs * (0.75 + Math.random() / 2),
    )
    timer.unref()
  }
  plan()
  return {
    async close() {
      stop.abort()
      clearTimeout(timer)
      await running
    },
  }
}
