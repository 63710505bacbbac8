/**
 * `@countersign/sdk/feed`: the parts of which a guard's knowledge is made, for tools that follow a
 * site's log themselves. A guard needs none of this; what it does with them, in which order and how
 * distrustfully, stands in `log-follower.ts`.
 */
export { type Acknowledger, createAcknowledger } from './acknowledger.ts'
export { createFeedKeys, type FeedKeys, type FeedKeysOptions } from './feed-keys.ts'
export { type ReadSnapshot, readSnapshot } from './snapshot-reader.ts'
export { createSseReader, type SseEvent, type SseReader } from './sse-reader.ts'
export { createVerifierApi, ServiceError, type VerifierApi, type VerifierApiOptions } from './verifier-api.ts'
