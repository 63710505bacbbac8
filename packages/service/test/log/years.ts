import { type CredentialId, formatTime, type Grounds, type Ppid, type SiteId } from '@countersign/core'
import type { Store } from '../../src/store/store.ts'
import { context, credentialId, DAY, newIssuer, newSite, newToken, ppid, seen } from '../store/fixtures.ts'
import type { Claim } from './verdicts.ts'

/** When something was revoked. */
interface Event<Id> {
  readonly id: Id
  readonly atMs: number
}

/** What has happened at a site, for claims that it may concern. */
export interface SiteYears {
  readonly siteId: SiteId
  readonly issuer: string
  readonly users: readonly Ppid[]
  readonly credentials: Event<CredentialId>[]
  readonly tokens: Event<string>[]
  readonly holders: Event<string>[]
  /** Revocations, sign-outs and reinstatements of users. */
  readonly userEvents: Event<Ppid>[]
}

type Pick = () => number

const oneOf = <T>(pick: Pick, all: readonly T[]): T | undefined => all[Math.floor(pick() * all.length)]

export async function beginYears(store: Store, atMs: number, users = 40): Promise<SiteYears> {
  const site = newSite()
  await store.createSite(site, context(atMs))
  const added = await newIssuer(site.siteId)
  await store.addIssuer(added, context(atMs))
  return {
    siteId: site.siteId,
    issuer: added.issuer,
    users: Array.from({ length: users }, ppid),
    credentials: [],
    tokens: [],
    holders: [],
    userEvents: [],
  }
}

/** One change at that time, chosen by `pick`. */
export async function changeAt(store: Store, years: SiteYears, pick: Pick, atMs: number): Promise<void> {
  const { siteId, issuer, users } = years
  const id = oneOf(pick, users) as Ppid
  const user = { siteId, ppid: id, reason: undefined }
  const now = context(atMs)
  const kind = Math.floor(pick() * 16)
  if (kind < 3) {
    years.userEvents.push({ id, atMs })
    await store.revokeUser(user, now)
  } else if (kind < 5) {
    years.userEvents.push({ id, atMs })
    await store.reinstateUser(user, now)
  } else if (kind < 7) {
    years.userEvents.push({ id, atMs })
    await store.signOutUsers({ siteId, ppids: [id], beforeMs: atMs, reason: undefined }, now)
  } else if (kind < 11) {
    const revoked = credentialId()
    years.credentials.push({ id: revoked, atMs })
    await store.revokeCredential({ siteId, credentialId: revoked, reason: undefined }, now)
  } else if (kind < 13) {
    const token = newToken(seen(siteId), { issuedAtMs: atMs - 1000, expiresAtMs: atMs + 900_000 })
    years.tokens.push({ id: token.sha256, atMs })
    await store.createToken(token, 20, atMs, seen(siteId))
    await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, now)
  } else if (kind < 14) {
    const thumbprint = Buffer.from(Array.from({ length: 32 }, () => Math.floor(pick() * 256))).toString(
      'base64url',
    )
    years.holders.push({ id: thumbprint, atMs })
    const body = { thumbprint, revoked_at: formatTime(atMs) }
    await store.cutOff({ siteId, kind: 'holder.revoked', target: thumbprint, body, reason: undefined }, now)
  } else if (kind < 15) {
    // Now and then, with an effect on a part of the credentials only.
    const body = { issuer, before: formatTime(atMs - 200 * DAY) }
    await store.cutOff({ siteId, kind: 'issuer.cut_off', target: issuer, body, reason: undefined }, now)
  } else await store.changeIssuer(siteId, issuer, { label: `label ${atMs}` }, now)
}

/**
 * Random claims: credentials of any age, some of them delegated, about revoked and other users, and
 * sessions that began before a revocation. None is valid for longer than 366 days after it was
 * signed, or after the session began.
 */
export function createClaims(
  all: readonly SiteYears[],
  pick: Pick,
  { count, fromMs, nowMs }: { readonly count: number; readonly fromMs: number; readonly nowMs: number },
): readonly Claim[] {
  return Array.from({ length: count }, () => {
    const years = oneOf(pick, all) as SiteYears
    const signedAtMs = fromMs + Math.floor((pick() * (nowMs - fromMs)) / 1000) * 1000
    const kind = pick()
    if (kind < 0.2) return createSession(years, pick)
    if (kind < 0.3) return createTokenClaim(years, pick, nowMs)
    const lifeMs = Math.floor((pick() < 0.5 ? 366 : pick() * 366) * DAY)
    return toClaim(years, pick, { signedAtMs, expiresAtMs: signedAtMs + lifeMs })
  })
}

function toClaim(
  years: SiteYears,
  pick: Pick,
  { signedAtMs, expiresAtMs }: Pick2<Grounds, 'signedAtMs' | 'expiresAtMs'>,
  named: { readonly id?: CredentialId; readonly user?: Ppid } = {},
): Claim {
  const { siteId, issuer, users, credentials, holders } = years
  const links = pick() < 0.3 ? 2 : 1
  // Something that is revoked was signed before.
  const revoked = credentials.filter(({ atMs }) => atMs >= signedAtMs)
  const credentialIds = Array.from({ length: links }, () =>
    pick() < 0.3 ? (oneOf(pick, revoked)?.id ?? credentialId()) : credentialId(),
  )
  if (named.id !== undefined) credentialIds[0] = named.id
  const grounds: Grounds = {
    issuer,
    issuerKey: `${issuer}#key-1`,
    signedAtMs,
    oldestSignedAtMs: signedAtMs,
    ppid: named.user ?? (pick() < 0.7 ? (oneOf(pick, users) as Ppid) : ppid()),
    credentialIds,
    holders: [pick() < 0.15 ? oneOf(pick, holders)?.id : undefined],
    isDelegated: links > 1,
    expiresAtMs,
  }
  return { siteId, grounds }
}

type Pick2<T, Name extends keyof T> = { readonly [Key in Name]: T[Key] }

/** Began with a credential before that, or its user, was revoked. */
function createSession(years: SiteYears, pick: Pick): Claim {
  const credential = pick() < 0.5 ? oneOf(pick, years.credentials) : undefined
  const user = credential === undefined ? oneOf(pick, years.userEvents) : undefined
  const endMs = (credential ?? user)?.atMs ?? 0
  const beganAtMs = endMs - Math.floor(pick() * 30) * DAY
  const times = { signedAtMs: beganAtMs - Math.floor(pick() * 200) * DAY, expiresAtMs: beganAtMs + 366 * DAY }
  return toClaim(years, pick, times, {
    ...(credential !== undefined && { id: credential.id }),
    ...(user !== undefined && { user: user.id }),
  })
}

function createTokenClaim(years: SiteYears, pick: Pick, nowMs: number): Claim {
  const token = oneOf(pick, years.tokens)
  const issuedAtMs = (token?.atMs ?? nowMs) - 1000
  const times = { signedAtMs: issuedAtMs - DAY, expiresAtMs: issuedAtMs + 900_000 }
  const claim = toClaim(years, pick, times)
  return token === undefined ? claim : { ...claim, tokenSha256: token.id }
}
