/**
 * The service with its promise taken out: it acknowledges a revocation from memory and writes it a
 * moment later. For control arms only: a client that checks that nothing acknowledged is lost must
 * see what this one loses.
 */
import type { SiteId } from '@countersign/core'
import { closeOnSignal } from '../../packages/service/src/close-on-signal.ts'
import { readConfig } from '../../packages/service/src/config.ts'
import { createLogger } from '../../packages/service/src/logger.ts'
import { openService } from '../../packages/service/src/service.ts'
import type { Revoked } from '../../packages/service/src/store/operations/revocations.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/**
 * Long beside the time between two revocations, and short beside the time that the control gives
 * it.
 */
const WRITTEN_AFTER_MS = 500

const config = readConfig('production', { env: process.env })
const log = createLogger(config.logLevel)
const service = await openService(config, { log, onFatal: () => process.exit(70) })
const { store, views } = service.deps
const site = config.protectedSite as SiteId
const before: Pick<Store, 'revokeUsers' | 'revokeCredential' | 'revokeToken' | 'receiveSignal'> = {
  ...store,
}

const answered = new Map<string, object>()
let added = 0
let queue: Promise<unknown> = Promise.resolve()
let positionAtStart: number | undefined
let seqAtStart = 0

/** The first answer to a name takes the next number, and the write gets in line. */
function acknowledge(name: string, write: () => Promise<unknown>, tell: (seq: number) => object): object {
  const told = answered.get(name)
  if (told !== undefined) return { ...told, alreadyRevoked: true }
  if (positionAtStart === undefined) {
    positionAtStart = views.position
    seqAtStart = views.view(site)?.head?.seq ?? 0
  }
  const answer = { position: positionAtStart + ++added, alreadyRevoked: false, ...tell(seqAtStart + added) }
  answered.set(name, answer)
  const due = new Promise((resolve) => setTimeout(resolve, WRITTEN_AFTER_MS))
  queue = queue.then(() => due).then(write)
  return answer
}

const revoked = (atMs: number) => (seq: number) =>
  ({
    credentialId: null,
    credentialIds: [],
    revokedAtMs: atMs,
    tokensRevoked: 0,
    epoch: store.epoch,
    seq,
  }) satisfies Partial<Revoked>

Object.assign(store, {
  revokeUsers: async (...[user, act]: Parameters<Store['revokeUsers']>) => {
    const [ppid] = user.ppids
    const answer = acknowledge(`user ${ppid}`, () => before.revokeUsers(user, act), revoked(act.atMs))
    return { ...answer, users: [{ ppid, ...answer }] }
  },
  revokeCredential: async (...[credential, act]: Parameters<Store['revokeCredential']>) =>
    acknowledge(
      `credential ${credential.credentialId}`,
      () => before.revokeCredential(credential, act),
      revoked(act.atMs),
    ),
  revokeToken: async (...[token, act]: Parameters<Store['revokeToken']>) =>
    acknowledge(
      `token ${token.sha256}`,
      () => before.revokeToken(token, act),
      () => ({}),
    ),
  receiveSignal: async (...[signal, act]: Parameters<Store['receiveSignal']>) =>
    acknowledge(
      `signal ${signal.jti}`,
      () => before.receiveSignal(signal, act),
      () => ({ state: 'received', outcome: signal.outcome }),
    ),
})
Object.assign(views, { waitFor: async () => {} })
closeOnSignal(service, log)
await service.listen()
