import type { JsonValue } from '@countersign/core'
import { isLine, isVisible, limits } from '@countersign/core/contract'
import type { GroupRole } from '../config/console-oidc.ts'
import type { PersonRole } from '../store/operations/people.ts'

/** What an ID token says about the account that has signed in. Its signature was checked before. */
export interface ProviderAccount {
  readonly subject: string
  /** The session at the provider. */
  readonly sid: string | undefined
  readonly issuedAtMs: number
  /** When the person authenticated, if the provider says it. */
  readonly authenticatedAtMs: number | undefined
  readonly name: string | undefined
  readonly groups: readonly string[]
}

type Claims = Readonly<Record<string, JsonValue | undefined>>

const AHEAD_MS_MAX = 60_000
/** Longer than the way from the token endpoint to here can take. */
const AGE_MS_MAX = 300_000
/** Of `sub` and `sid`. */
const NAME_CHARS_MAX = 256
/** Of the claim; what is shown is shorter. */
const NAME_CHARS_READ = 1024
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu

/** The account, or what is wrong with the claims. */
export function readAccount(
  claims: Claims,
  groupsClaim: string,
  nowMs: number,
): ProviderAccount | { readonly fault: string } {
  const { sub, sid, iat, auth_time: authTime, name, preferred_username: userName } = claims
  if (!isAccountName(sub)) return { fault: 'sub must be one line of 1 to 256 characters' }
  if (sid !== undefined && !isAccountName(sid))
    return { fault: 'sid must be one line of 1 to 256 characters' }
  // Asked positively: a clock that answers NaN accepts nothing.
  if (!isSeconds(iat) || !(Math.abs(nowMs - iat * 1000) <= AGE_MS_MAX))
    return { fault: 'iat is not a time of the last minutes; check the clocks' }
  if (authTime !== undefined && !(isSeconds(authTime) && authTime * 1000 <= nowMs + AHEAD_MS_MAX))
    return { fault: 'auth_time is not a time in the past' }
  return {
    subject: sub,
    sid,
    issuedAtMs: iat * 1000,
    authenticatedAtMs: authTime === undefined ? undefined : authTime * 1000,
    name: toLine(name) ?? toLine(userName),
    groups: toTexts(claims[groupsClaim]),
  }
}

/** One role for each site: that of the first group in the settings which the account has. */
export function findRoles(groups: readonly string[], roles: readonly GroupRole[]): readonly PersonRole[] {
  const has = new Set(groups)
  const found = new Map<string | null, PersonRole>()
  for (const { group, siteId, role } of roles)
    if (has.has(group) && !found.has(siteId)) found.set(siteId, { siteId, role })
  return [...found.values()]
}

/** One printable line without invisible characters, short enough for lists. Undefined: no text. */
export function toLine(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  const plain = value
    .slice(0, NAME_CHARS_READ)
    .normalize('NFC')
    .replaceAll(UNFIT, ' ')
    .replaceAll(/\s+/g, ' ')
  const line = [...plain.trim()].slice(0, limits.label_chars_max).join('').trim()
  return isVisible(line) && isLine(line, limits.label_chars_max) ? line : undefined
}

/** Some providers send one group as a text. */
function toTexts(value: JsonValue | undefined): readonly string[] {
  const list: readonly JsonValue[] = Array.isArray(value) ? value : value === undefined ? [] : [value]
  return list.filter((each) => typeof each === 'string')
}

/** A `sub` or `sid` that every store keeps exactly. */
export function isAccountName(value: JsonValue | undefined): value is string {
  return value !== '' && isLine(value, NAME_CHARS_MAX)
}

function isSeconds(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 && value < 1e11
}
