import type { Store } from '../store.ts'
import type { Transaction } from '../transaction.ts'
import { apiKeyBySha256, apiKeys, apiKeysById, createApiKey, deleteApiKey } from './api-keys.ts'
import { audit, auditRows } from './audit.ts'
import { credentials, recordCredentials, statuses } from './credentials.ts'
import { deliveries, dueWebhooks, nextDelivery, replayDelivery, webhookLoad } from './deliveries.ts'
import { derivedFault } from './derived.ts'
import { beginEpoch, beginLog, epochLinks, logState, tableWithRows } from './epoch.ts'
import { applyAcks, endFeedNode, feedNodes, feedStreams, reportStreams } from './feed-streams.ts'
import { addIssuer, changeIssuer, changeIssuerKey, fetchedIssuers, issuer, issuers } from './issuers.ts'
import {
  applyLeaseAcks,
  dismissLease,
  endLeaseStreams,
  endLeaseStreamsOfOthers,
  headReadersUntil,
  leases,
  openLease,
  recordHeadReaders,
} from './leases.ts'
import { entriesAfter, logPosition, siteEntriesAfter, siteHeads, siteRecordsAfter } from './log.ts'
import { committedBy, recordLogTime } from './log-times.ts'
import { requireIntactRows } from './macs.ts'
import { claimOffer, createOffer, offer } from './offers.ts'
import { purgeExpired } from './purge-expired.ts'
import { reinstateUser, revokeCredential, revokeToken, revokeUser } from './revocations.ts'
import { putSecret, secret } from './secrets.ts'
import {
  createSignIn,
  createSignInCode,
  endSignIn,
  openSignIn,
  presentSignIn,
  redeemSignIn,
  signIn,
  trySignIn,
} from './sign-ins.ts'
import { abandonIdempotent, beginIdempotent, consumeOnce, finishIdempotent } from './single-use.ts'
import { changeSite, createSite, site, sites } from './sites.ts'
import { confirmedTime, confirmTime, resetTime } from './time.ts'
import { createToken, token, tokens } from './tokens.ts'
import { createWebhook, deleteWebhook, rotateWebhookSecret, webhook, webhooks } from './webhooks.ts'
import { probeWrite } from './write-probe.ts'

/** Each is one transaction. */
const writing = {
  createSite,
  changeSite,
  addIssuer,
  changeIssuer,
  changeIssuerKey,
  createApiKey,
  deleteApiKey,
  recordCredentials,
  createToken,
  revokeUser,
  revokeCredential,
  revokeToken,
  reinstateUser,
  createWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  replayDelivery,
  nextDelivery,
  createSignIn,
  openSignIn,
  trySignIn,
  presentSignIn,
  endSignIn,
  createSignInCode,
  redeemSignIn,
  createOffer,
  claimOffer,
  reportStreams,
  endFeedNode,
  applyAcks,
  openLease,
  endLeaseStreams,
  endLeaseStreamsOfOthers,
  applyLeaseAcks,
  dismissLease,
  recordHeadReaders,
  recordLogTime,
  consumeOnce,
  beginIdempotent,
  finishIdempotent,
  abandonIdempotent,
  audit,
  putSecret,
  confirmTime,
  resetTime,
  purgeExpired,
}

/** A single statement each, which needs no transaction to be of one moment. */
const reading = {
  site,
  sites,
  issuer,
  issuers,
  fetchedIssuers,
  apiKeyBySha256,
  apiKeysById,
  apiKeys,
  credentials,
  token,
  tokens,
  statuses,
  offer,
  signIn,
  entriesAfter,
  siteEntriesAfter,
  siteRecordsAfter,
  logPosition,
  siteHeads,
  epochLinks,
  requireIntactRows,
  derivedFault,
  feedStreams,
  feedNodes,
  leases,
  headReadersUntil,
  committedBy,
  webhook,
  webhooks,
  deliveries,
  dueWebhooks,
  webhookLoad,
  auditRows,
  secret,
  confirmedTime,
}

/**
 * All that a store can be asked to do in a transaction, with what only stores ask of themselves.
 */
export const writingVerbs = { ...writing, beginLog, beginEpoch, probeWrite }
/** All that a store can be asked without one. */
export const readingVerbs = { ...reading, logState, tableWithRows }

type Verbs = typeof writingVerbs & typeof readingVerbs
export type VerbName = keyof Verbs
type VerbArguments<Name extends VerbName> = Parameters<Verbs[Name]>
type VerbAnswer<Name extends VerbName> =
  ReturnType<Verbs[Name]> extends Transaction<infer Answer> ? Answer : never

/** Runs a verb by its name in some store. */
export type RunVerb = <Name extends VerbName>(
  name: Name,
  ...args: VerbArguments<Name>
) => Promise<VerbAnswer<Name>>

/**
 * What differs from the port: the log is read in an epoch, and purging goes on until nothing is
 * left.
 */
type OwnWay =
  | 'committedBy'
  | 'derivedFault'
  | 'recordLogTime'
  | 'entriesAfter'
  | 'siteEntriesAfter'
  | 'siteRecordsAfter'
  | 'logPosition'
  | 'siteHeads'
  | 'purgeExpired'
type Elsewhere = 'kind' | 'isShared' | 'epoch' | 'onAppend' | 'writeFault' | 'ping' | 'close'
export type StoreVerbs = Omit<Store, Elsewhere>
type AsTheyAre = Omit<StoreVerbs, OwnWay>

/**
 * All verbs of the port over one way of running them. `epoch` is the one that the store believes to
 * be in.
 */
export function createStoreVerbs(run: RunVerb, epoch: () => string): StoreVerbs {
  const names = Object.keys({ ...writing, ...reading }) as VerbName[]
  const entries = names.map((name) => [name, (...args: VerbArguments<VerbName>) => run(name, ...args)])
  return {
    ...(Object.fromEntries(entries) as AsTheyAre),
    entriesAfter: (position, limit) => run('entriesAfter', epoch(), position, limit),
    siteEntriesAfter: (siteId, seq, limit) => run('siteEntriesAfter', epoch(), siteId, seq, limit),
    siteRecordsAfter: (siteId, seq, limit) => run('siteRecordsAfter', epoch(), siteId, seq, limit),
    committedBy: (siteId, seq) => run('committedBy', epoch(), siteId, seq),
    recordLogTime: (position, atMs) => run('recordLogTime', epoch(), position, atMs),
    derivedFault: () => run('derivedFault', epoch()),
    logPosition: () => run('logPosition', epoch()),
    siteHeads: (page) => run('siteHeads', epoch(), page),
    async purgeExpired(nowMs) {
      while (await run('purgeExpired', nowMs));
    },
  }
}

type Programs = {
  [Name in keyof AsTheyAre]: (
    ...args: Parameters<AsTheyAre[Name]>
  ) => Transaction<Awaited<ReturnType<AsTheyAre[Name]>>>
}
// Every verb of the port has its program, with the same arguments and the same answer.
void ({ ...writing, ...reading } satisfies Programs)
