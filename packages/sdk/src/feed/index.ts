/**
 * `@countersign/sdk/feed`: the parts with which a guard follows a site's log, for tools that follow
 * it themselves. Users of a guard do not need them. `log-follower.ts` shows how a guard uses them.
 */
export { type Acknowledger, createAcknowledger } from './acknowledger.ts'
export { type ReadHeartbeat, readEntry, readHeartbeat } from './feed-events.ts'
export { createFeedKeys, type FeedKeys, type FeedKeysOptions } from './feed-keys.ts'
export { type LoadedSnapshot, loadSnapshot, type SnapshotSource } from './load-snapshot.ts'
export { LogCorrupted } from './log-corrupted.ts'
export { createSseReader, type SseEvent, type SseReader } from './sse-reader.ts'
export { createVerifierApi, ServiceError, type VerifierApi, type VerifierApiOptions } from './verifier-api.ts'
