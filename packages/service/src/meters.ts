import type { Allow, SiteId } from '@countersign/core'
import type { SignalType } from '@countersign/core/contract'
import { Counter, Gauge, Registry } from 'prom-client'
import { LabelCounts } from './label-counts.ts'
import { RequestMeter } from './request-meter.ts'
import type { SignalOutcome } from './store/operations/signals.ts'

/**
 * Metrics for Prometheus. Labels are endpoint ids, codes and site ids, never text that a caller can
 * choose.
 */
export interface Meters {
  request(endpoint: string, status: number, seconds: number): void
  /** A request was rejected with this problem. */
  problem(endpoint: string, code: string): void
  /** A decision about a credential or token: `allowed`, or the code of its denial. */
  verdict(siteId: SiteId, presented: Allow['presented'], outcome: string): void
  /** A signal of an identity provider has arrived. */
  signal(type: SignalType, outcome: SignalOutcome | 'repeated' | 'unmapped' | 'rejected' | 'failed'): void
  /** A row of the store was found whose MAC is missing or wrong. */
  rowForged(table: string): void
  /** How fresh this node's view is; called when metrics are read. */
  watchView(ask: () => { readonly ageMs: number; readonly position: number; readonly audited: number }): void
  /** An attempt to send something to a webhook. */
  webhookAttempt(outcome: 'delivered' | 'again' | 'failed'): void
  /**
   * Webhook deliveries that are pending or have failed, on all nodes together; called when metrics
   * are read.
   */
  watchWebhooks(ask: () => Promise<WebhookGauges>): void
  /** A connection to a feed has ended. */
  streamEnded(why: string): void
  /**
   * A snapshot was opened for a reader or not changed since; or the service built one for a new
   * head, signed one, or read a page of the log.
   */
  snapshot(step: 'opened' | 'unchanged' | 'built' | 'signed' | 'page_read'): void
  /**
   * A verifier asked for entries of this epoch beyond the end of the log, and had no proof that
   * they exist.
   */
  cursorAhead(): void
  /** A new epoch began without so many entries that this node had seen. */
  entriesLost(count: number): void
  /** The connections to the feeds of this node; called when metrics are read. */
  watchFeeds(ask: () => { readonly streams: number; readonly lag: number; readonly silent: number }): void
  /** Faults of this node or its store; called when metrics are read. */
  watchAlarms(ask: () => Alarms): void
  /** An attempt to fetch the keys of an issuer. */
  issuerRefresh(outcome: 'refreshed' | 'failed' | 'held_back'): void
  /** The age of the oldest keys of issuers that are fetched; called when metrics are read. */
  watchIssuerKeys(askAgeMs: () => number): void
  /** Rows were removed from a table because they were old. */
  rowsRemoved(table: string, count: number): void
  /** Audit rows were written to an archive. */
  auditRowsArchived(count: number): void
  /** Everything in the text format of Prometheus. */
  text(): Promise<string>
  readonly contentType: string
}

interface Alarms {
  /** The store can be written. */
  readonly isWritable: boolean
  /** A signed head proves that the log has lost entries or was rewritten. */
  readonly isRolledBack: boolean
  /** The file of signed heads could not be written the last time. */
  readonly isHeadFileFailing: boolean
  /** Audit rows could not be archived the last time. */
  readonly isAuditArchiveFailing: boolean
  /** The clock of this node minus that of its verifiers; 0 when none has reported. */
  readonly clockDifferenceMs: number
}

interface WebhookGauges {
  readonly pending: number
  readonly failed: number
  readonly disabled: number
  readonly oldestPendingSeconds: number
}

export function createMeters(): Meters {
  const registry = new Registry()
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const requests = new RequestMeter(registry)
  const problems = counter('countersign_problems_total', 'Rejected requests by endpoint and problem code.', [
    'endpoint',
    'code',
  ])
  const verdictHelp = 'Decisions about what was presented, by site. presented is credential, bearer or jwt.'
  const verdicts = new LabelCounts({
    name: 'countersign_verdicts_total',
    help: verdictHelp,
    labelNames: ['site_id', 'presented', 'outcome'],
    registers: [registry],
  })
  const attempts = counter(
    'countersign_webhook_attempts_total',
    'Attempts to send to webhooks, by outcome.',
    ['outcome'],
  )
  const signalHelp =
    'Signals of identity providers by type and outcome. unmapped (no such user or session) and failed (keys or store unavailable) are alarms.'
  const signals = counter('countersign_signals_total', signalHelp, ['type', 'outcome'])
  const endHelp =
    'Ended feed streams by reason: slow (did not read), silent (did not acknowledge), or another.'
  const streamEnds = counter('countersign_feed_streams_ended_total', endHelp, ['reason'])
  const snapshotHelp =
    'Snapshots by step: opened (for a reader), unchanged (answered with 304), built (for a new head), signed, page_read (from the store).'
  const snapshots = counter('countersign_snapshots_total', snapshotHelp, ['step'])
  const aheadHelp =
    'Verifiers that asked for entries beyond the end of the log, without a signed head that proves them.'
  const cursorsAhead = counter('countersign_feed_cursors_ahead_total', aheadHelp, [])
  const lostHelp =
    'Entries that this node had seen and a new epoch of the log lacks, after a fail-over or a restore. Anything but 0 is an alarm.'
  const losses = counter('countersign_log_entries_lost_total', lostHelp, [])
  const forgedHelp =
    'Rows of the store that were found with a missing or wrong MAC, or that contradict the log, by table. Anything but 0 is an alarm.'
  const forged = counter('countersign_store_rows_forged_total', forgedHelp, ['table'])
  const refreshHelp =
    'Attempts to fetch the keys of issuers, by outcome. held_back: the keys change too often, which is an alarm.'
  const refreshes = counter('countersign_issuer_refreshes_total', refreshHelp, ['outcome'])
  const removedHelp = 'Rows that were removed because they had expired or were old, by table.'
  const removals = counter('countersign_rows_removed_total', removedHelp, ['table'])
  const archivedHelp = 'Audit rows that were written to archives.'
  const archivals = counter('countersign_audit_rows_archived_total', archivedHelp, [])
  /** Metrics that are loaded before they are shown. */
  const refreshing: (() => Promise<void>)[] = []
  const gauge = (name: string, help: string, ask: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(ask())
      },
    })
  return {
    request: (endpoint, status, seconds) => requests.add(endpoint, status, seconds),
    problem: (endpoint, code) => problems.inc({ endpoint, code }),
    verdict: (siteId, presented, outcome) => verdicts.add(siteId, presented, outcome),
    watchView(ask) {
      gauge(
        'countersign_view_age_seconds',
        'Age of the revocation data of this node.',
        () => ask().ageMs / 1000,
      )
      gauge(
        'countersign_log_position',
        'How far this node has applied the log of all sites.',
        () => ask().position,
      )
      gauge(
        'countersign_log_audited_ratio',
        'The share of the stored log entries that this node has checked since it started.',
        () => ask().audited,
      )
    },
    signal: (type, outcome) => signals.inc({ type, outcome }),
    cursorAhead: () => cursorsAhead.inc(),
    entriesLost: (count) => losses.inc(count),
    issuerRefresh: (outcome) => refreshes.inc({ outcome }),
    watchIssuerKeys(askAgeMs) {
      const ageHelp = 'Age of the oldest keys of issuers that this service fetches; 0 when there are none.'
      gauge('countersign_issuer_keys_age_seconds', ageHelp, () => askAgeMs() / 1000)
    },
    rowForged: (table) => forged.inc({ table }),
    snapshot: (step) => snapshots.inc({ step }),
    rowsRemoved: (table, count) => removals.inc({ table }, count),
    auditRowsArchived: (count) => archivals.inc(count),
    streamEnded: (why) => streamEnds.inc({ reason: why }),
    watchFeeds(ask) {
      gauge('countersign_feed_streams', 'Connections of this node that follow a feed.', () => ask().streams)
      gauge(
        'countersign_feed_lag_entries',
        'How many entries the slowest verifier of this node has not acknowledged.',
        () => ask().lag,
      )
      const silentHelp =
        'Verifiers with a stream on this node that have not acknowledged anything for 15 seconds.'
      gauge('countersign_feed_silent_verifiers', silentHelp, () => ask().silent)
    },
    watchAlarms(ask) {
      const flag = (is: boolean) => (is ? 1 : 0)
      gauge('countersign_store_writable', '1 while the store can be written, 0 while it cannot.', () =>
        flag(ask().isWritable),
      )
      const rolledBackHelp =
        '1 when a signed head proves that the log has lost entries. Look for the entries, then run countersign accept-rollback.'
      gauge('countersign_log_rolled_back', rolledBackHelp, () => flag(ask().isRolledBack))
      gauge('countersign_head_file_failing', '1 while the file of signed heads cannot be written.', () =>
        flag(ask().isHeadFileFailing),
      )
      const archiveHelp = '1 while old audit rows cannot be archived, and so are not removed.'
      gauge('countersign_audit_archive_failing', archiveHelp, () => flag(ask().isAuditArchiveFailing))
      const differenceHelp =
        'The clock of this node minus the median clock of its verifiers; 0 when none has reported.'
      gauge(
        'countersign_verifier_clock_difference_seconds',
        differenceHelp,
        () => ask().clockDifferenceMs / 1000,
      )
    },
    webhookAttempt: (outcome) => attempts.inc({ outcome }),
    watchWebhooks(ask) {
      const plain = (name: string, help: string, labelNames: string[] = []) =>
        new Gauge({ name, help, labelNames, registers: [registry] })
      const deliveries = plain(
        'countersign_webhook_deliveries',
        'Pending and failed deliveries of all nodes.',
        ['status'],
      )
      const oldest = plain(
        'countersign_webhook_oldest_pending_seconds',
        'Age of the oldest pending delivery; 0 when none is pending.',
      )
      const disabled = plain('countersign_webhooks_disabled', 'Disabled webhooks.')
      refreshing.push(async () => {
        // A store that does not answer must not hide the other metrics.
        const now = await ask().catch(() => undefined)
        deliveries.set({ status: 'pending' }, now?.pending ?? Number.NaN)
        deliveries.set({ status: 'failed' }, now?.failed ?? Number.NaN)
        oldest.set(now?.oldestPendingSeconds ?? Number.NaN)
        disabled.set(now?.disabled ?? Number.NaN)
      })
    },
    async text() {
      await Promise.all(refreshing.map((refresh) => refresh()))
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}
