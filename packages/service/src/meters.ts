import { Counter, Gauge, type Metric, Registry } from 'prom-client'

/**
 * Metrics for Prometheus. Labels are endpoint ids, codes and site ids, never text that a caller can
 * choose.
 */
export interface Meters {
  request(endpoint: string, status: number, seconds: number): void
  /** A request was rejected with this problem. */
  problem(endpoint: string, code: string): void
  /** A decision about a credential or token: `allowed`, or the code of its denial. */
  verdict(siteId: string, presented: 'credential' | 'bearer', outcome: string): void
  /** A row of the store was found whose MAC is missing or wrong. */
  rowForged(table: string): void
  /** How fresh this node's view is; called when metrics are read. */
  watchView(ask: () => { readonly ageMs: number; readonly position: number }): void
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
   * A verifier asked for entries of this epoch beyond the end of the log, and had no proof that
   * they exist.
   */
  cursorAhead(): void
  /** The connections to the feeds of this node; called when metrics are read. */
  watchFeeds(ask: () => { readonly streams: number; readonly lag: number; readonly silent: number }): void
  /** Faults of this node or its store; called when metrics are read. */
  watchAlarms(ask: () => Alarms): void
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
  const requests = openTally(registry, 'countersign_requests_total', 'Requests by endpoint and status.', [
    'endpoint',
    'status',
  ])
  const problems = openTally(registry, 'countersign_problems_total', 'Refusals by endpoint and code.', [
    'endpoint',
    'code',
  ])
  const verdictHelp =
    'Decisions about what was presented, by site. presented="bearer" shows who still uses tokens.'
  const verdicts = openTally(registry, 'countersign_verdicts_total', verdictHelp, [
    'site_id',
    'presented',
    'outcome',
  ])
  const seconds = openTimings(
    registry,
    'countersign_request_seconds',
    'Time from the request to its answer, by endpoint.',
    'endpoint',
  )
  const attempts = openTally(
    registry,
    'countersign_webhook_attempts_total',
    'Attempts to send to webhooks, by outcome.',
    ['outcome'],
  )
  const endHelp =
    'Connections to feeds that are over, by reason: slow ones were dropped for not reading, silent ones for not acknowledging.'
  const streamEnds = openTally(registry, 'countersign_feed_streams_ended_total', endHelp, ['reason'])
  const aheadHelp =
    'Verifiers that asked for entries beyond the end of the log, without a signed head that proves them.'
  const cursorsAhead = openTally(registry, 'countersign_feed_cursors_ahead_total', aheadHelp, [])
  const forgedHelp =
    'Rows of the store that were found with a missing or wrong MAC, or that contradict the log, by table. Anything but 0 is an alarm.'
  const forged = openTally(registry, 'countersign_store_rows_forged_total', forgedHelp, ['table'])
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
    request(endpoint, status, took) {
      requests(endpoint, status)
      seconds(endpoint, took)
    },
    problem: (endpoint, code) => problems(endpoint, code),
    verdict: (siteId, presented, outcome) => verdicts(siteId, `${presented} ${outcome}`),
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
    },
    cursorAhead: () => cursorsAhead('', ''),
    rowForged: (table) => forged(table, ''),
    streamEnded: (why) => streamEnds(why, ''),
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
        '1 when a signed head proves that the log has lost entries: run countersign accept-rollback after a look.'
      gauge('countersign_log_rolled_back', rolledBackHelp, () => flag(ask().isRolledBack))
      gauge('countersign_head_file_failing', '1 while the file of signed heads cannot be written.', () =>
        flag(ask().isHeadFileFailing),
      )
      const differenceHelp =
        'The clock of this node minus the median clock of its verifiers; 0 when none has reported.'
      gauge(
        'countersign_verifier_clock_difference_seconds',
        differenceHelp,
        () => ask().clockDifferenceMs / 1000,
      )
    },
    webhookAttempt: (outcome) => attempts(outcome, ''),
    watchWebhooks(ask) {
      const plain = (name: string, help: string, labelNames: string[] = []) =>
        new Gauge({ name, help, labelNames, registers: [registry] })
      const deliveries = plain(
        'countersign_webhook_deliveries',
        'Deliveries that wait or have failed, of all nodes.',
        ['status'],
      )
      const oldest = plain(
        'countersign_webhook_oldest_pending_seconds',
        'Age of the oldest delivery that waits; 0 when none does.',
      )
      const disabled = plain('countersign_webhooks_disabled', 'Webhooks that nothing is sent to any more.')
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

/**
 * A counter that is written in a few nanoseconds and handed over when metrics are read. `more` has
 * the labels after the first, as words.
 */
function openTally(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
): (first: string, more: string | number) => void {
  const counts = new Map<string, Map<string | number, number>>()
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      for (const [first, rest] of counts) {
        for (const [more, count] of rest) {
          const values = [first, ...String(more).split(' ')]
          this.inc(Object.fromEntries(labelNames.map((label, i) => [label, values[i] ?? ''])), count)
        }
      }
    },
  })
  return (first, more) => {
    const rest = counts.get(first)
    if (rest === undefined) counts.set(first, new Map([[more, 1]]))
    else rest.set(more, (rest.get(more) ?? 0) + 1)
  }
}

const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

/** The same for times: how many were at most so long. */
function openTimings(
  registry: Registry,
  name: string,
  help: string,
  label: string,
): (value: string, seconds: number) => void {
  const all = new Map<string, { counts: number[]; sum: number; count: number }>()
  const toValues = ([value, { counts, sum, count }]: [
    string,
    { counts: number[]; sum: number; count: number },
  ]) => {
    const upTo = BUCKETS.map((le, i) => ({
      le: String(le),
      value: counts.slice(0, i + 1).reduce((before, more) => before + more, 0),
    }))
    return [
      ...[...upTo, { le: '+Inf', value: count }].map((bucket) => ({
        metricName: `${name}_bucket`,
        labels: { le: bucket.le, [label]: value },
        value: bucket.value,
      })),
      { metricName: `${name}_sum`, labels: { [label]: value }, value: sum },
      { metricName: `${name}_count`, labels: { [label]: value }, value: count },
    ]
  }
  const metric = {
    name,
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...all].flatMap(toValues),
    }),
  }
  registry.registerMetric(metric as unknown as Metric)

  return (value, seconds) => {
    let timings = all.get(value)
    if (timings === undefined) {
      timings = { counts: [...BUCKETS, Infinity].map(() => 0), sum: 0, count: 0 }
      all.set(value, timings)
    }
    timings.sum += seconds
    timings.count++
    let at = 0
    while (seconds > (BUCKETS[at] ?? Infinity)) at++
    timings.counts[at] = (timings.counts[at] ?? 0) + 1
  }
}
