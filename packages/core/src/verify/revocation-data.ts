import type { SignatureCache } from './signature-cache.ts'
import type { SiteData } from './trust.ts'

/**
 * The data that one decision is based on, and its age. Everything is denied once `ageMs` exceeds
 * `ageMsMax`.
 */
export interface RevocationData {
  readonly site: SiteData
  readonly ageMs: number
  readonly ageMsMax: number
  /** Saves the signature check of a header or an access token that was verified before. */
  readonly signatures?: Pick<SignatureCache, 'digest' | 'findDigest' | 'memoize' | 'find' | 'set' | 'jwts'>
}
