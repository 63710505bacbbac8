import type { LogEntry, Receipt, ReceiptSummary } from '@countersign/core/contract'
import { formatCount, say, sayList } from '../say.ts'

const KINDS: Readonly<Record<string, string>> = {
  'user.revoked': say('User revoked'),
  'user.reinstated': say('User reinstated'),
  'user.signed_out': say('User signed out'),
  'credential.revoked': say('Credential revoked'),
  'token.revoked': say('Token revoked'),
  'holder.revoked': say('Holder key revoked'),
  'issuer.trusted': say('Issuer trusted'),
  'oauth_issuer.trusted': say('OAuth issuer trusted'),
  'issuer.distrusted': say('Issuer no longer trusted'),
  'issuer.cut_off': say('Issuer cut off'),
  'key.retired': say('Issuer key retired'),
  'key.compromised': say('Issuer key compromised'),
  'site.changed': say('Site changed'),
  'site.cut_off': say('Whole site cut off'),
}

/** `user.revoked` in words. */
export function toKindWords(kind: string): string {
  return KINDS[kind] ?? kind
}

/** The kinds that a page filters by, each with its word. */
export const KIND_GROUPS: readonly (readonly [name: string, word: string, kinds: RegExp])[] = [
  ['users', say('Users'), /^user\./],
  ['credentials', say('Credentials'), /^(?:credential|holder)\./],
  ['tokens', say('Tokens'), /^token\./],
  ['issuers', say('Issuers and keys'), /^(?:issuer|oauth_issuer|key)\./],
  ['site', say('Site'), /^site\./],
]

const TARGETS = ['ppid', 'credential_id', 'token_sha256', 'thumbprint', 'key_id', 'issuer'] as const

/** What an entry is about: an id, or undefined for the whole site. */
export function findTarget({ body }: Pick<LogEntry, 'body'>): string | undefined {
  const members = body as Readonly<Record<string, unknown>>
  const found = TARGETS.map((name) => members[name]).find((value) => typeof value === 'string')
  return found as string | undefined
}

export function isDrill(entry: Pick<LogEntry, 'body'>): boolean {
  return findTarget(entry)?.startsWith('cred_drill_') === true
}

/** Whether an entry ends access. Others grant it or change settings. */
export function isRevocation(kind: string): boolean {
  return /\.(?:revoked|signed_out|distrusted|cut_off|retired|compromised)$/.test(kind)
}

/** Every entry has a receipt, except reinstatements: they revoke nothing. */
export function hasReceipt(kind: string): boolean {
  return kind !== 'user.reinstated'
}

/** `This revocation`, `This drill` or `This change`. */
export function toSubject({ kind, drill_id }: Pick<ReceiptSummary, 'kind' | 'drill_id'>): string {
  if (drill_id !== null) return say('This drill')
  return isRevocation(kind) ? say('This revocation') : say('This change')
}

/** `14`, or `10,000 or more` if the service stopped counting. */
export function formatBounded({
  count,
  or_more,
}: {
  readonly count: number
  readonly or_more: boolean
}): string {
  return or_more ? say('{count} or more', { count: formatCount(count) }) : formatCount(count)
}

/** `a, b and c`; more than five are counted. */
export function joinNames(names: readonly string[]): string {
  const shown =
    names.length > 5 ? [...names.slice(0, 4), say('{count} more', { count: names.length - 4 })] : names
  return shown.length < 2
    ? (shown[0] ?? '')
    : say('{names} and {last}', { names: sayList(shown.slice(0, -1)), last: shown.at(-1) ?? '' })
}

/**
 * After how long a verifier had applied an entry: by its own report, or else until its
 * acknowledgement arrived.
 */
export function toAppliedMs({
  applied_ms,
  after_ms,
}: Pick<Receipt['verifiers'][number], 'applied_ms' | 'after_ms'>): number | null {
  return applied_ms ?? after_ms
}
