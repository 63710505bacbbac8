import type { CredentialId, Grounds, Ppid, SiteId } from '@countersign/core'
import { ISSUER, METHOD, required } from '../sample.ts'
import { BLOCK, type Change, type ChangesOptions, toChange, toCredentialId, toPpid } from './changes.ts'

/** Access that a caller may claim at a generated store, with a credential or a bearer token. */
export interface Claim {
  readonly siteId: SiteId
  readonly grounds: Grounds
  readonly tokenSha256?: string
}

export interface ClaimsOptions extends ChangesOptions {
  readonly sites: readonly SiteId[]
  /** How many claims. */
  readonly claims: number
  /** Numbers from 0 to below 1. */
  readonly pick: () => number
}

const DAY_MS = 86_400_000
/** The longest life of a credential. */
const LIFE_DAYS_MAX = 366
/** Half of the claims are about changes of this time: about others, nearly all have expired. */
const RECENT_DAYS = 500

/**
 * Random claims, each about a change that the generator made: a credential that was revoked, or one
 * that its user or holder has had. In a tenth of them, the user and the credential never occurred.
 */
export function createClaims(options: ClaimsOptions): readonly Claim[] {
  const { pick, claims, count, years, sites } = options
  const recent = Math.min(1, RECENT_DAYS / (years * 365))
  return Array.from({ length: claims }, () => {
    const part = pick() < 0.5 ? 1 - pick() * recent : pick()
    const n = Math.min(count - 1, Math.floor(part * count))
    const siteId = required(sites[Math.floor(n / BLOCK) % sites.length])
    const known = pick() < 0.9
    return toClaim(siteId, known ? toChange(n, options) : undefined, n, options)
  })
}

function toClaim(
  siteId: SiteId,
  change: Change | undefined,
  n: number,
  { pick, nowMs, count }: ClaimsOptions,
): Claim {
  const atMs = change?.atMs ?? nowMs - pick() * RECENT_DAYS * DAY_MS
  // What is revoked by id was signed before. Users get credentials before and after.
  const isUser = change === undefined || change.kind.startsWith('user.')
  const days = isUser ? (pick() * 2 - 1) * 300 : -pick() * 30
  const signedAtMs = toSeconds(Math.min(nowMs, atMs + days * DAY_MS))
  const life = change?.kind === 'token.revoked' ? 1 : LIFE_DAYS_MAX * (pick() < 0.5 ? 1 : pick())
  const target = change?.target ?? ''
  const grounds: Grounds = {
    issuer: ISSUER,
    issuerKey: METHOD,
    signedAtMs,
    oldestSignedAtMs: signedAtMs,
    ppid: (isUser && change !== undefined ? target : toPpid(count + n)) as Ppid,
    credentialIds: [
      (change?.kind === 'credential.revoked' ? target : toCredentialId(count + n, atMs)) as CredentialId,
    ],
    holders: [change?.kind === 'holder.revoked' ? target : undefined],
    isDelegated: false,
    expiresAtMs: toSeconds(signedAtMs + life * DAY_MS),
  }
  return { siteId, grounds, ...(change?.kind === 'token.revoked' && { tokenSha256: target }) }
}

/** Times in credentials are whole seconds. */
function toSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000
}
