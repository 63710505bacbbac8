import type {
  CredentialId,
  EntryKind,
  KeyStatus,
  Ppid,
  Revocation,
  SiteData,
  SiteSettings,
  TrustedIssuer,
} from '@countersign/core'

/** What an act would change in the data of a site. */
export interface Effect {
  readonly users?: ReadonlySet<Ppid>
  readonly signedOut?: ReadonlySet<Ppid>
  readonly credentialIds?: ReadonlySet<CredentialId>
  readonly tokenSha256s?: ReadonlySet<string>
  readonly holder?: string
  readonly cutOffIssuer?: string
  readonly cutsOffSite?: boolean
  readonly distrusted?: string
  readonly key?: { readonly issuer: string; readonly id: string; readonly status: KeyStatus }
  readonly settings?: Partial<Pick<SiteSettings, 'bearer' | 'delegation'>>
  /** The entries that the act appends. */
  readonly kinds: readonly EntryKind[]
  readonly isIrreversible: boolean
  readonly endsOwnAccess?: boolean
  /** The API key that would be deleted. */
  readonly deletedKeyId?: string
}

/**
 * The data of a site as if the act had been done. The same checks then decide what is valid, so a
 * preview cannot have rules of its own.
 */
export function applyEffect(site: SiteData, effect: Effect, nowMs: number): SiteData {
  const by = (kind: Revocation['by']): Revocation => ({ by: kind, sinceMs: nowMs })
  return {
    siteId: site.siteId,
    trusted: site.trusted,
    head: site.head,
    subjectKey: site.subjectKey,
    settings: { ...site.settings, ...effect.settings },
    issuer: (name) => (name === effect.distrusted ? undefined : withKey(site.issuer(name), effect, nowMs)),
    oauthIssuer: (name) => (name === effect.distrusted ? undefined : site.oauthIssuer(name)),
    credentialRevocation: (id) =>
      site.credentialRevocation(id) ?? (effect.credentialIds?.has(id) ? by('credential') : undefined),
    // A sign-out also revokes known credentials that were signed ahead of the clock.
    userRevocation: (ppid, createdMs) =>
      site.userRevocation(ppid, createdMs) ??
      (effect.users?.has(ppid) || effect.signedOut?.has(ppid) ? by('user') : undefined),
    holderRevocation: (thumbprint) =>
      site.holderRevocation(thumbprint) ?? (thumbprint === effect.holder ? by('holder') : undefined),
    cutOff: (issuer, createdMs) =>
      site.cutOff(issuer, createdMs) ??
      (effect.cutsOffSite ? by('site') : issuer === effect.cutOffIssuer ? by('issuer') : undefined),
    tokenRevocation: (sha256) =>
      site.tokenRevocation(sha256) ?? (effect.tokenSha256s?.has(sha256) ? by('token') : undefined),
  }
}

function withKey(
  known: TrustedIssuer | undefined,
  { key }: Effect,
  nowMs: number,
): TrustedIssuer | undefined {
  if (known === undefined || key === undefined || known.issuer !== key.issuer) return known
  const name = `${key.issuer}#${key.id}`
  const found = known.keys.get(name)
  if (found === undefined) return known
  const changed = { ...found, status: key.status, changedAtMs: nowMs }
  return { ...known, keys: new Map([...known.keys, [name, changed]]) }
}
