/** One measured number, with the conditions that belong to it. */
export interface Measurement {
  readonly name: string
  readonly value: string
  readonly unit: string
  readonly conditions: string
  /** The section of the measurements that it is from. */
  readonly section: string
}

/** From bench/README.md. A test finds each number there. */
export const measurements: readonly Measurement[] = [
  {
    name: 'Time to decide',
    value: '1.75',
    unit: 'µs',
    conditions: 'For a credential that the guard has seen before. The first time: 97.0 µs, with libsodium.',
    section: 'verification',
  },
  {
    name: 'Time to reach 1,000 guards',
    value: '8.8',
    unit: 'ms',
    conditions: 'Median, from the request until the entry arrives. 99th percentile: 29.1 ms.',
    section: 'sdk-verifiers',
  },
  {
    name: 'Durable revocations',
    value: '3,889',
    unit: 'per s',
    conditions: 'SQLite, every commit synced, 64 connections. PostgreSQL: 456 per second.',
    section: 'service',
  },
  {
    name: 'Memory for a revocation',
    value: '25.2',
    unit: 'bytes',
    conditions: 'In the view of a guard with 10 million revocations.',
    section: 'revocation-view',
  },
]
