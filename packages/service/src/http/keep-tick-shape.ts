import { executionAsyncResource } from 'node:async_hooks'

const kept: object[] = []

/**
 * Keeps one of the objects alive that Node makes for each `process.nextTick`.
 *
 * When a process is idle, V8 collects all garbage and forgets the shapes of which no object is
 * left. Node gives these objects members with computed names, which V8 from then on adds through
 * its runtime: after a pause of 20 seconds a warm request took 135 µs instead of 117, until the
 * process ended (docs/decisions/0106-what-a-request-costs.md).
 */
export function keepTickShape(): void {
  process.nextTick(() => {
    if (kept.length === 0) kept.push(executionAsyncResource())
  })
}
