import type { NonceStore, SignatureCache, SiteId } from '@countersign/core'
import type { Logger } from 'pino'
import type { RecentSummaries } from './access/recent-summaries.ts'
import type { SeenCredentials } from './access/seen-credentials.ts'
import type { TokenFinder } from './access/token-finder.ts'
import type { VerdictTallies } from './access/verdict-tallies.ts'
import type { BulkQuota } from './actions/bulk-quota.ts'
import type { ErasureQuota } from './actions/erasure-quota.ts'
import type { PreviewQuota } from './actions/preview/preview-quota.ts'
import type { ExportQuota } from './audit-list/export-quota.ts'
import type { BoundedMap } from './bounded-map.ts'
import type { LogoFetcher } from './brand/fetch-logo.ts'
import type { Config } from './config.ts'
import type { DemoVerifiers } from './development/demo-verifiers.ts'
import type { DidWebFetcher } from './did-web/fetch-document.ts'
import type { KeySetFetcher } from './did-web/fetch-key-set.ts'
import type { FeedServer } from './feed/feed-server.ts'
import type { SignedHeads } from './feed/signed-heads.ts'
import type { Snapshots } from './feed/snapshot/snapshots.ts'
import type { VerifierClocks } from './feed/verifier-clocks.ts'
import type { VerifierRegistry } from './feed/verifier-registry.ts'
import type { RateLimiter } from './http/rate-limiter.ts'
import type { IdentityProvider } from './identity-provider/identity-provider.ts'
import type { ApiKeys } from './keys/api-keys.ts'
import type { ConsoleSessions } from './keys/console-sessions.ts'
import type { ServiceKeys } from './keys/service-keys.ts'
import type { HeadWatch } from './log/head-watch.ts'
import type { LiveViews } from './log/live-views.ts'
import type { Meters } from './meters.ts'
import type { SenderKeys } from './signals/sender-keys.ts'
import type { FindSenders } from './signals/senders.ts'
import type { Store } from './store/store.ts'
import type { Clock } from './time/clock.ts'
import type { WebhookTester } from './webhooks/tester.ts'

/** Dependencies of routes and actions, created once in `openService`. */
export interface Deps {
  readonly config: Config
  readonly store: Store
  readonly views: LiveViews
  readonly clock: Clock
  readonly heads: HeadWatch
  readonly keys: ServiceKeys
  /** Code that deletes a key calls `apiKeys.forget`. */
  readonly apiKeys: ApiKeys
  /** Code that changes a person or ends a session calls `consoleSessions.forget`. */
  readonly consoleSessions: ConsoleSessions
  /** Of the console. Undefined: none is set up. */
  readonly identityProvider: IdentityProvider | undefined
  readonly signatures: SignatureCache
  readonly nonces: NonceStore
  readonly tokens: TokenFinder
  readonly seen: SeenCredentials
  readonly didWeb: DidWebFetcher
  readonly keySets: KeySetFetcher
  readonly logos: LogoFetcher
  /** What verifiers report about keys that they do not know. */
  readonly refreshHints: {
    /** Fetches the keys of the issuer soon. Returns immediately; failures are logged. */
    hint(siteId: SiteId, issuer: string): void
  }
  readonly snapshots: Snapshots
  readonly signedHeads: SignedHeads
  /** Code that deletes a key calls `feeds.dropKey`. */
  readonly feeds: FeedServer
  readonly verifiers: VerifierRegistry
  readonly verifierClocks: VerifierClocks
  readonly rateLimiter: RateLimiter
  readonly auditExports: ExportQuota
  readonly previews: PreviewQuota
  readonly bulkRevocations: BulkQuota
  readonly erasures: ErasureQuota
  readonly webhookTester: WebhookTester
  readonly signals: {
    readonly findSenders: FindSenders
    readonly keys: SenderKeys
    /** Recent signals that name no user: their repetitions are not recorded again. */
    readonly unmapped: BoundedMap<string, true>
  }
  /** Counts of decisions, for the summary of a site. */
  readonly tallies: VerdictTallies
  readonly summaries: RecentSummaries
  /** Only in development. */
  readonly demoVerifiers?: DemoVerifiers | undefined
  /** What runs the command line. Only in development; otherwise it is `countersign`. */
  readonly commandLine?: string | undefined
  readonly meters: Meters
  readonly log: Logger
}
