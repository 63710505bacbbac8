import { isLogRead, isRead, type LogRead, type Transaction } from '../transaction.ts'
import * as apiKeys from './api-keys.ts'
import * as applyTimes from './apply-times.ts'
import * as audit from './audit.ts'
import * as auditArchive from './audit-archive.ts'
import * as bulkRevocations from './bulk-revocations.ts'
import * as checkpoints from './checkpoints.ts'
import * as consoleSessions from './console-sessions.ts'
import * as credentialStatuses from './credential-statuses.ts'
import * as credentials from './credentials.ts'
import * as cutLog from './cut-log.ts'
import * as cutOffs from './cut-offs.ts'
import * as deliveries from './deliveries.ts'
import * as departedReaders from './departed-readers.ts'
import * as derived from './derived.ts'
import * as drills from './drills.ts'
import * as epoch from './epoch.ts'
import * as erasure from './erasure.ts'
import * as feedStreams from './feed-streams.ts'
import * as formerVerifiers from './former-verifiers.ts'
import * as idempotency from './idempotency.ts'
import * as intactRows from './intact-rows.ts'
import * as issuers from './issuers.ts'
import * as jobTurns from './job-turns.ts'
import * as keySources from './key-sources.ts'
import * as leases from './leases.ts'
import * as log from './log.ts'
import * as logPages from './log-pages.ts'
import * as logTimes from './log-times.ts'
import * as nodes from './nodes.ts'
import * as offers from './offers.ts'
import * as passkeys from './passkeys.ts'
import * as people from './people.ts'
import * as providerSessions from './provider-sessions.ts'
import * as purgeExpired from './purge-expired.ts'
import * as receipts from './receipts.ts'
import * as reinstatements from './reinstatements.ts'
import * as revocations from './revocations.ts'
import * as secrets from './secrets.ts'
import * as signIns from './sign-ins.ts'
import * as signals from './signals.ts'
import * as singleUse from './single-use.ts'
import * as siteBrands from './site-brands.ts'
import * as sites from './sites.ts'
import * as time from './time.ts'
import * as tokens from './tokens.ts'
import * as userHistory from './user-history.ts'
import * as verdictTallies from './verdict-tallies.ts'
import * as webhooks from './webhooks.ts'
import * as writeProbe from './write-probe.ts'

/**
 * The operations of the port. These files export operations and types only; what operations share
 * is in `shared/`. Whole modules are merged, so that "go to definition" leads from the port to the
 * operation. Do not annotate `portOperations`: it would end here then.
 */
const portOperations = {
  ...apiKeys,
  ...applyTimes,
  ...audit,
  ...bulkRevocations,
  ...checkpoints,
  ...credentialStatuses,
  ...auditArchive,
  ...consoleSessions,
  ...credentials,
  ...cutLog,
  ...cutOffs,
  ...deliveries,
  ...departedReaders,
  ...derived,
  ...drills,
  ...erasure,
  ...feedStreams,
  ...formerVerifiers,
  ...idempotency,
  ...intactRows,
  ...issuers,
  ...jobTurns,
  ...keySources,
  ...leases,
  ...log,
  ...logPages,
  ...logTimes,
  ...nodes,
  ...offers,
  ...passkeys,
  ...people,
  ...providerSessions,
  ...purgeExpired,
  ...receipts,
  ...reinstatements,
  ...revocations,
  ...secrets,
  ...signIns,
  ...signals,
  ...singleUse,
  ...siteBrands,
  ...sites,
  ...time,
  ...tokens,
  ...userHistory,
  ...verdictTallies,
  ...webhooks,
}

/** With those that only stores call. */
const operations = { ...portOperations, ...epoch, ...writeProbe }

export type OperationName = keyof typeof operations

type Bound<Operations> = {
  -readonly [Name in keyof Operations]: Operations[Name] extends LogRead<infer Args, infer Result>
    ? (...args: Args) => Promise<Result>
    : Operations[Name] extends (...args: infer Args) => Transaction<infer Result>
      ? (...args: Args) => Promise<Result>
      : never
}
export type PortOperations = Bound<typeof portOperations>
export type BoundOperations = Bound<typeof operations>

/** Runs an operation in a store. */
export type RunOperation = (name: OperationName, args: readonly unknown[]) => Promise<unknown>

/** Binds all operations to one way of running them. `epoch` is the one that the store follows. */
export function bindOperations(run: RunOperation, epoch: () => string): BoundOperations {
  const bound = (Object.keys(operations) as OperationName[]).map((name) => [
    name,
    (...args: readonly unknown[]) => run(name, isLogRead(operations[name]) ? [epoch(), ...args] : args),
  ])
  return Object.fromEntries(bound) as BoundOperations
}

/** Whether an operation only reads, and so runs without a transaction. */
export function isReadOperation(name: OperationName): boolean {
  return isRead(operations[name])
}

export function createTransaction(name: OperationName, args: readonly unknown[]): Transaction<unknown> {
  return (operations[name] as (...args: readonly unknown[]) => Transaction<unknown>)(...args)
}
