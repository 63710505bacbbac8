import { Counter, type Metric, type Registry } from 'prom-client'

interface EndpointCounts {
  readonly byStatus: Map<number, number>
  /** How many requests fell into each bucket, without those below. */
  readonly inBucket: number[]
  seconds: number
}

const DURATIONS = 'countersign_request_seconds'
/** Upper bounds of the buckets in seconds; a last bucket has none. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

/**
 * Counts requests and how long they took. prom-client checks and hashes the labels each time
 * something is counted; here that happens when metrics are read.
 */
export class RequestMeter {
  readonly #counts = new Map<string, EndpointCounts>()

  constructor(registry: Registry) {
    const counts = this.#counts
    new Counter({
      name: 'countersign_requests_total',
      help: 'Requests by endpoint and status.',
      labelNames: ['endpoint', 'status'],
      registers: [registry],
      collect() {
        this.reset()
        for (const [endpoint, { byStatus }] of counts)
          for (const [status, count] of byStatus) this.inc({ endpoint, status }, count)
      },
    })
    registry.registerMetric(createDurations(counts))
  }

  add(endpoint: string, status: number, seconds: number): void {
    const counts = this.#counts.get(endpoint) ?? this.#start(endpoint)
    counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1)
    counts.seconds += seconds
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++
    counts.inBucket[bucket] = (counts.inBucket[bucket] as number) + 1
  }

  #start(endpoint: string): EndpointCounts {
    const inBucket = Array<number>(BOUNDS.length + 1).fill(0)
    const counts = { byStatus: new Map<number, number>(), inBucket, seconds: 0 }
    this.#counts.set(endpoint, counts)
    return counts
  }
}

/** A histogram in the form in which prom-client asks its metrics for their values. */
function createDurations(counts: ReadonlyMap<string, EndpointCounts>): Metric {
  const durations = {
    name: DURATIONS,
    get: async () => ({
      name: DURATIONS,
      help: 'Requests: time from arrival to response, by endpoint.',
      type: 'histogram',
      aggregator: 'sum',
      values: [...counts].flatMap(([endpoint, { inBucket, seconds }]) => {
        let sum = 0
        const buckets = inBucket.map((count, i) => {
          sum += count
          const labels = { le: BOUNDS[i] ?? '+Inf', endpoint }
          return { metricName: `${DURATIONS}_bucket`, labels, value: sum }
        })
        const labels = { endpoint }
        return [
          ...buckets,
          { metricName: `${DURATIONS}_sum`, labels, value: seconds },
          { metricName: `${DURATIONS}_count`, labels, value: sum },
        ]
      }),
    }),
  }
  return durations as unknown as Metric
}
