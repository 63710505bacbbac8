/**
 * What a page says of a credential. It is read, not verified: whether it is any good is for the
 * service to say.
 */
export interface CredentialFacts {
  readonly document: object
  readonly id: string
  readonly ppid: string
  readonly siteId: string
  readonly scope: readonly string[]
  readonly validFromMs: number
  readonly validUntilMs: number
  /** Undefined: it is not bound to a key. */
  readonly holderKey: string | undefined
}

/** The credential in a text: its JSON, or what its header carries. Undefined for anything else. */
export function parseCredential(text: string): CredentialFacts | undefined {
  try {
    const trimmed = text.trim()
    return parseFacts(
      JSON.parse(trimmed.startsWith('{') ? trimmed : decodeHeader(trimmed.replaceAll(/\s+/g, ''))),
    )
  } catch {
    return undefined
  }
}

/** The same of an object. */
export function parseFacts(document: unknown): CredentialFacts | undefined {
  const { id, validFrom, validUntil, credentialSubject } = toMembers(document)
  const { id: ppid, site_id: siteId, scope, holder_key: holderKey } = toMembers(credentialSubject)
  const [validFromMs, validUntilMs] = [Date.parse(String(validFrom)), Date.parse(String(validUntil))]
  const isWhole =
    typeof id === 'string' &&
    id.startsWith(ID_PREFIX) &&
    typeof ppid === 'string' &&
    typeof siteId === 'string' &&
    Array.isArray(scope) &&
    Number.isFinite(validFromMs + validUntilMs)
  if (!isWhole) return undefined
  return {
    document: document as object,
    id: id.slice(ID_PREFIX.length),
    ppid,
    siteId,
    scope: scope.map(String),
    validFromMs,
    validUntilMs,
    holderKey: typeof holderKey === 'string' ? holderKey : undefined,
  }
}

const ID_PREFIX = 'did:service:'

function toMembers(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function decodeHeader(text: string): string {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return new TextDecoder('utf-8', { fatal: true }).decode(
    Uint8Array.from(binary, (character) => character.charCodeAt(0)),
  )
}

/** What a site asks for; null: whatever the credential gives. */
export interface Wanted {
  readonly siteId: string
  readonly scope: readonly string[] | null
}

/** Why a credential does not fit, as far as this page knows. */
export type Misfit =
  | { readonly kind: 'siteMismatch'; readonly other: string }
  | { readonly kind: 'expired' | 'notYet'; readonly atMs: number }
  | { readonly kind: 'scopeMissing'; readonly missing: readonly string[] }
  | { readonly kind: 'keyElsewhere' | 'revoked' }

/** The leeway that verifiers have for a credential whose beginning is a little ahead. */
const LEEWAY_MS = 10_000

/** Undefined if the credential can be presented. */
export function findMisfit(
  facts: CredentialFacts,
  { siteId, scope }: Wanted,
  nowMs: number,
  hasKey: (did: string) => boolean,
): Misfit | undefined {
  if (facts.siteId !== siteId) return { kind: 'siteMismatch', other: facts.siteId }
  if (nowMs >= facts.validUntilMs) return { kind: 'expired', atMs: facts.validUntilMs }
  if (nowMs + LEEWAY_MS < facts.validFromMs) return { kind: 'notYet', atMs: facts.validFromMs }
  const missing = (scope ?? []).filter((one) => !facts.scope.includes(one))
  if (missing.length > 0) return { kind: 'scopeMissing', missing }
  return facts.holderKey !== undefined && !hasKey(facts.holderKey) ? { kind: 'keyElsewhere' } : undefined
}
