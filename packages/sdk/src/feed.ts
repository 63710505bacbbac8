/**
 * `@countersign/sdk/feed`: the parts of which a guard's knowledge is made, for tools that follow a
 * site's log themselves. A guard needs none of this; what it does with them, in which order and how
 * distrustfully, stands in `view/view-client.ts`.
 */
export { type Acknowledger, createAcknowledger } from './view/acknowledger.ts'
export { createFeedKeys, type FeedKeys, type FeedKeysOptions } from './view/feed-keys.ts'
export { createService, type Service, ServiceFault, type ServiceOptions } from './view/service.ts'
export { type ReadSnapshot, readSnapshot } from './view/snapshot-reader.ts'
export { createSseReader, type SseEvent, type SseReader } from './view/sse-reader.ts'
