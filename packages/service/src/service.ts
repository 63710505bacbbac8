import { type Clocks, SignatureCache } from '@countersign/core'
import { isLoopback } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { RecentSummaries } from './access/recent-summaries.ts'
import { createSeenCredentials } from './access/seen-credentials.ts'
import { createStoreNonces } from './access/store-nonces.ts'
import { createTokenFinder } from './access/token-finder.ts'
import { createVerdictTallies } from './access/verdict-tallies.ts'
import { BulkQuota } from './actions/bulk-quota.ts'
import { ErasureQuota } from './actions/erasure-quota.ts'
import { openKeyUpkeep } from './actions/key-upkeep.ts'
import { startStatusUpdates } from './actions/list-statuses.ts'
import { PreviewQuota } from './actions/preview/preview-quota.ts'
import { startScheduledDrills } from './actions/scheduled-drills.ts'
import { type App, createApp } from './app.ts'
import { startAuditArchiving } from './audit-archive/start-archiving.ts'
import { ExportQuota } from './audit-list/export-quota.ts'
import { BoundedMap } from './bounded-map.ts'
import { createLogoFetcher } from './brand/fetch-logo.ts'
import type { Config } from './config.ts'
import type { Deps } from './deps.ts'
import type { DemoVerifiers } from './development/demo-verifiers.ts'
import { createDidWebFetcher } from './did-web/fetch-document.ts'
import { createKeySetFetcher } from './did-web/fetch-key-set.ts'
import { createRefreshHints } from './did-web/refresh-hints.ts'
import { startIssuerRefresh } from './did-web/refresh-issuers.ts'
import { FeedServer } from './feed/feed-server.ts'
import { createHeadAges } from './feed/head-ages.ts'
import { openNodeReports } from './feed/node-reports.ts'
import { startReceipts } from './feed/receipt-job.ts'
import { createSignedHeads } from './feed/signed-heads.ts'
import { createSnapshots } from './feed/snapshot/snapshots.ts'
import { createVerifierClocks } from './feed/verifier-clocks.ts'
import { VerifierRegistry } from './feed/verifier-registry.ts'
import { type ConsolePlace, findConsolePlace, toConsolePlace } from './http/console-place.ts'
import { createRateLimiter } from './http/rate-limiter.ts'
import { createIdentityProvider } from './identity-provider/identity-provider.ts'
import { createApiKeys } from './keys/api-keys.ts'
import { createConsoleSessions } from './keys/console-sessions.ts'
import { openKeyUses } from './keys/key-uses.ts'
import { openServiceKeys } from './keys/service-keys.ts'
import { findSubjectKey } from './keys/subject-keys.ts'
import { type CheckpointJobOptions, startCheckpoints } from './log/checkpoint-job.ts'
import { openCommitTimes } from './log/commit-times.ts'
import { HeadWatch } from './log/head-watch.ts'
import { LiveViews } from './log/live-views.ts'
import { startCutting } from './log/start-cutting.ts'
import { createMeters } from './meters.ts'
import { createFetcher } from './net/fetch-bytes.ts'
import { createJsonFetcher } from './net/fetch-json.ts'
import { adminRoutes } from './routes/admin.ts'
import { routes as allRoutes } from './routes/all.ts'
import { createSenderKeys } from './signals/sender-keys.ts'
import { createFindSenders } from './signals/senders.ts'
import { openStore } from './store/open.ts'
import { startPurging } from './store/start-purging.ts'
import { openClock } from './time/clock.ts'
import { startWebhookSender } from './webhooks/sender.ts'
import { createWebhookTester } from './webhooks/tester.ts'

/** One node of the service, with everything it needs open. */
export interface Service {
  readonly deps: Deps
  readonly app: App
  /** The admin listener, unless it is switched off. */
  readonly admin: App | undefined
  /** Accepts requests. Rejects when a port is taken. */
  listen(): Promise<{ readonly port: number; readonly adminPort: number | undefined }>
  /**
   * Stops accepting, lets running requests finish, writes pending rows, and closes the store last.
   * A second call waits for the first.
   */
  close(): Promise<void>
}

export interface OpenServiceOptions {
  readonly log: Logger
  /** Called after an unrecoverable store failure: the process must end. */
  readonly onFatal: (fault: Error) => void
  /** Other processes of this service listen on the same port. */
  readonly sharesPort?: boolean
  /** Reject where there is no embedded store, instead of creating one. */
  readonly storeMustExist?: boolean
  /** Only in development. */
  readonly demoVerifiers?: DemoVerifiers
  /** Only in development: what runs the command line. */
  readonly commandLine?: string
  /** For tests. */
  readonly checkpoints?: CheckpointJobOptions
  /** For tests: how often receipts are written. */
  readonly receiptsMs?: number
  /** In place of the clocks of this machine: for tests, and for machines that sleep. */
  readonly clocks?: () => Clocks
}

/**
 * Opens the store, reads the log and creates a node. When a part cannot be opened, closes the
 * others and rejects. The node accepts requests after `listen`.
 */
export async function openService(config: Config, options: OpenServiceOptions): Promise<Service> {
  const opened: Part[] = []
  const keep: Keep = (part) => {
    opened.push(part)
    return part
  }
  const closeAll = async () => {
    // In reverse order, since a part may use those that were opened before it.
    for (const part of opened.splice(0).reverse()) await part.close()
  }

  try {
    const deps = await openDeps(config, options, keep)
    await startJobs(deps, options, keep)
    const { adminPort } = config
    const { sharesPort = false } = options
    const admin = adminPort === undefined ? undefined : keep(createAdminApp(deps, adminPort))
    const app = keep(createApp(deps, { sharesPort, rateLimiter: deps.rateLimiter }))
    let closing: Promise<void> | undefined
    return {
      deps,
      app,
      admin,
      async listen() {
        const adminPort = (await admin?.listen())?.port
        return { ...(await app.listen()), adminPort }
      },
      close: () => (closing ??= closeAll()),
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

interface Part {
  close(): Promise<void> | void
}

/** Remembers a part, so that it is closed with the node. */
type Keep = <T extends Part>(part: T) => T

/** Opens everything that routes, actions and jobs use, each part after those that it needs. */
async function openDeps(config: Config, options: OpenServiceOptions, keep: Keep): Promise<Deps> {
  const { log, onFatal, storeMustExist = false, demoVerifiers, commandLine } = options
  const meters = createMeters()
  const { masterKey } = config
  const onForged = ({ table }: { readonly table: string }) => meters.rowForged(table)
  const store = keep(
    await openStore(config.store, { masterKey, onFatal, onForged, log, mustExist: storeMustExist }),
  )
  const clock = keep(await openClock(store, log, options.clocks))
  const keys = await openServiceKeys(store, config.masterKey, config.baseUrl, clock.nowMs())
  const heads = new HeadWatch({ file: config.headFile, store, keys, clock, meters, log })
  const views = keep(
    await LiveViews.open(store, clock, log, {
      viewAgeMsMax: config.viewAgeMsMax,
      examine: heads.compare.bind(heads),
      findSubjectKey: (siteId) => findSubjectKey({ store, keys, log }, siteId),
    }),
  )
  keep(heads).follow(views)
  const signatures = new SignatureCache()
  views.follow({ applied: () => signatures.clearHeaders(), lost: () => signatures.clearHeaders() })
  const verifierClocks = createVerifierClocks(clock, log)
  const archiving = keep(startAuditArchiving({ store, clock, config, meters, log }))
  const commits = keep(openCommitTimes({ store, views, clock, log }))
  const { viewAgeMsMax } = config
  const ages = createHeadAges(store, views)
  const onClock = verifierClocks.heard
  const verifiers = keep(
    await VerifierRegistry.open({
      store,
      clock,
      log,
      commits,
      viewAgeMsMax,
      onEnd: meters.streamEnded,
      onClock,
    }),
  )
  views.follow({ applied: () => verifiers.applied(views.position), lost: () => undefined })
  // Receipts of other nodes include this node from now on, so it must not give out older heads.
  if (views.readiness().ready) await views.waitFor(await store.logPosition())
  verifiers.applied(views.position)
  const tallies = keep(createVerdictTallies({ store, nowMs: () => clock.nowMs(), log }))
  const rateLimiter = createRateLimiter(config.rateLimits)
  const keyUses = keep(openKeyUses({ store, log }))
  const fetchRules = toFetchRules(config)
  const fetcher = createFetcher(fetchRules)
  const documents = createJsonFetcher(fetchRules, fetcher)
  const deps: Deps = {
    config,
    store,
    views,
    clock,
    heads,
    keys,
    apiKeys: createApiKeys(store, undefined, keyUses.record),
    consoleSessions: keep(createConsoleSessions({ store, log })),
    identityProvider:
      config.consoleOidc &&
      createIdentityProvider(config.consoleOidc, { log, monotonicMs: () => clock.clocks().monotonicMs }),
    signatures,
    nonces: createStoreNonces(store),
    tokens: createTokenFinder(store),
    seen: keep(createSeenCredentials({ store, nowMs: () => clock.nowMs(), log })),
    didWeb: createDidWebFetcher(fetchRules, documents),
    keySets: createKeySetFetcher(documents),
    logos: createLogoFetcher(fetcher),
    refreshHints: { hint: (siteId, issuer) => hints.hint(siteId, issuer) },
    snapshots: createSnapshots({ store, views, clock, keys, ages, verifiers, meters }),
    signedHeads: createSignedHeads({ store, views, clock, keys, ages, verifiers }),
    feeds: keep(new FeedServer({ store, views, clock, keys, ages, verifiers, log })),
    verifiers,
    verifierClocks,
    rateLimiter,
    auditExports: new ExportQuota(),
    previews: new PreviewQuota(),
    bulkRevocations: new BulkQuota(),
    erasures: new ErasureQuota(),
    webhookTester: createWebhookTester({ store, keys, clock, log }, fetchRules),
    signals: {
      unmapped: new BoundedMap(10_000),
      findSenders: createFindSenders(store, () => clock.clocks().monotonicMs),
      keys: createSenderKeys(createKeySetFetcher(documents), {
        monotonicMs: () => clock.clocks().monotonicMs,
        log,
      }),
    },
    tallies,
    summaries: new RecentSummaries(() => clock.clocks().monotonicMs),
    demoVerifiers,
    commandLine,
    meters: {
      ...meters,
      verdict(siteId, presented, outcome) {
        meters.verdict(siteId, presented, outcome)
        tallies.count(siteId, presented, outcome)
      },
    },
    log,
  }
  const hints = createRefreshHints(deps)
  watchMeters(meters, deps, archiving)
  return deps
}

/** Connects the metrics with what they show. */
function watchMeters(
  meters: ReturnType<typeof createMeters>,
  { store, views, heads, clock, feeds, verifiers, verifierClocks }: Deps,
  archiving: { readonly isFailing: boolean },
): void {
  meters.watchView(() => ({
    ageMs: views.age().ageMs,
    position: views.position,
    audited: views.audited,
  }))
  meters.watchAlarms(() => ({
    isWritable: store.writeFault() === undefined,
    isRolledBack: views.suspicion() !== undefined,
    isHeadFileFailing: heads.isFailing,
    isAuditArchiveFailing: archiving.isFailing,
    clockDifferenceMs: verifierClocks.medianMs(),
  }))
  meters.watchWebhooks(async () => {
    const { oldestPendingAtMs, ...load } = await store.webhookLoad()
    return {
      ...load,
      oldestPendingSeconds: oldestPendingAtMs === undefined ? 0 : (clock.nowMs() - oldestPendingAtMs) / 1000,
    }
  })
  meters.watchFeeds(() => ({
    streams: feeds.size,
    lag: verifiers.lag((siteId) => views.view(siteId)?.head.seq ?? 0),
    silent: verifiers.silent,
  }))
}

/** Starts what the node does by itself, from time to time. */
async function startJobs(deps: Deps, options: OpenServiceOptions, keep: Keep): Promise<void> {
  const { store, views, clock, log, feeds, verifiers } = deps
  keep(await openKeyUpkeep(deps))
  keep(startIssuerRefresh(deps))
  keep(startPurging(deps))
  keep(startStatusUpdates(deps))
  keep(startCheckpoints(deps, options.checkpoints))
  keep(startCutting(deps))
  keep(startReceipts(deps, options.receiptsMs))
  keep(startScheduledDrills(deps))
  keep(startWebhookSender(deps, toFetchRules(deps.config)))
  const { nodeId } = verifiers
  keep(await openNodeReports({ nodeId, store, views, clock, log, countStreams: () => feeds.size }))
}

/** In development, documents, logos and webhooks may also be on this machine. */
function toFetchRules({ mode }: Config): { readonly allowLoopback: boolean } {
  return { allowLoopback: mode === 'development' }
}

/** On loopback the admin listener is reached without TLS. */
function toAdminPlace({ config }: Deps, port: number): ConsolePlace {
  const { adminHost, baseUrl } = config
  const own = findConsolePlace(config)
  if (own !== undefined) return own
  const url = `http://${adminHost.includes(':') ? `[${adminHost}]` : adminHost}:${port}`
  return toConsolePlace(URL.canParse(url) && isLoopback(new URL(url)) ? new URL(url).origin : baseUrl)
}

/** Never overloaded by itself: the main listener rejects verifications to make room for it. */
function createAdminApp(deps: Deps, port: number): App {
  return createApp(deps, {
    routes: adminRoutes,
    // People are few, and each has a rate limit: verifications cannot move here.
    consoleRoutes: allRoutes,
    address: { host: deps.config.adminHost, port, exclusive: true },
    rateLimiter: deps.rateLimiter,
    place: toAdminPlace(deps, port),
    notFound:
      'The admin listener serves administration, revocation, health and metrics. Everything is on the main port, except metrics.',
    gauge: { eventLoopDelayMs: () => 0, acceptDelayMs: () => 0 },
  })
}
