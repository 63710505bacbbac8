import type { LogEntry, Receipt, ReceiptSummary } from '@countersign/core/contract'

const KINDS: Readonly<Record<string, string>> = {
  'user.revoked': 'User revoked',
  'user.reinstated': 'User reinstated',
  'user.signed_out': 'User signed out',
  'credential.revoked': 'Credential revoked',
  'token.revoked': 'Token revoked',
  'holder.revoked': 'Holder key revoked',
  'issuer.trusted': 'Issuer trusted',
  'oauth_issuer.trusted': 'OAuth issuer trusted',
  'issuer.distrusted': 'Issuer no longer trusted',
  'issuer.cut_off': 'Issuer cut off',
  'key.retired': 'Issuer key retired',
  'key.compromised': 'Issuer key compromised',
  'site.changed': 'Site changed',
  'site.cut_off': 'Whole site cut off',
}

/** `user.revoked` in words. */
export function toKindWords(kind: string): string {
  return KINDS[kind] ?? kind
}

/** The kinds that a page filters by, each with its word. */
export const KIND_GROUPS: readonly (readonly [name: string, word: string, kinds: RegExp])[] = [
  ['users', 'Users', /^user\./],
  ['credentials', 'Credentials', /^(?:credential|holder)\./],
  ['tokens', 'Tokens', /^token\./],
  ['issuers', 'Issuers and keys', /^(?:issuer|oauth_issuer|key)\./],
  ['site', 'Site', /^site\./],
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
function isRevocation(kind: string): boolean {
  return /\.(?:revoked|signed_out|distrusted|cut_off|retired|compromised)$/.test(kind)
}

/** Every entry has a receipt, except reinstatements: they revoke nothing. */
export function hasReceipt(kind: string): boolean {
  return kind !== 'user.reinstated'
}

/** `This revocation`, `This drill` or `This change`. */
export function toSubject({ kind, drill_id }: Pick<ReceiptSummary, 'kind' | 'drill_id'>): string {
  if (drill_id !== null) return 'This drill'
  return isRevocation(kind) ? 'This revocation' : 'This change'
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** `14`, or `10,000 or more` if the service stopped counting. */
export function formatBounded({
  count,
  or_more,
}: {
  readonly count: number
  readonly or_more: boolean
}): string {
  return or_more ? `${formatCount(count)} or more` : formatCount(count)
}

/** `1 token`, `3 tokens`. */
export function formatNumber(count: number, one: string, many: string = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** `a, b and c`; more than five are counted. */
export function joinNames(names: readonly string[]): string {
  const shown = names.length > 5 ? [...names.slice(0, 4), `${names.length - 4} more`] : names
  return shown.length < 2 ? (shown[0] ?? '') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
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
