import type { Deps } from '../deps.ts'
import type { ConsolePlace } from './console-place.ts'
import type { KeyRejections } from './key-rejections.ts'
import type { RateLimiter } from './rate-limiter.ts'

export interface AuthDeps {
  readonly deps: Pick<Deps, 'apiKeys' | 'consoleSessions' | 'clock'>
  readonly place: ConsolePlace
  readonly rateLimiter: RateLimiter
  readonly keyRejections: KeyRejections
}
