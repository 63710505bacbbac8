import {
  type CredentialId,
  DEFAULT_PERMISSION_ID,
  findKeyFault,
  issueCredential,
  type JsonObject,
  type PermissionId,
  type Ppid,
  type PublicKey,
  parseDidKey,
  type Scope,
  type Signer,
  type SiteId,
  toHolderThumbprint,
} from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { createCredentialId, derivePpid } from '../keys/ids.ts'
import { Problem } from '../problem.ts'
import { pairwisePurpose } from '../sealing/purposes.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { SeenCredential } from '../store/operations/credentials.ts'
import type { Site } from '../store/operations/sites.ts'
import { ensureOwnIssuer } from './own-issuer.ts'

/** A credential that a site orders for a user. */
export interface IssueOrder {
  readonly siteId: SiteId
  /** The id of the user at the site, which is not stored, or the ppid itself. */
  readonly user: { readonly userRef: string } | { readonly ppid: Ppid }
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId | undefined
  readonly ttlSeconds: number | undefined
  readonly holderKey: string | undefined
  /** Whether the holder may delegate a narrower one. Requires a holder key. */
  readonly delegable?: boolean | undefined
}

export interface IssuedToUser {
  readonly credential: JsonObject
  readonly credentialId: CredentialId
  readonly ppid: Ppid
  readonly expiresAtMs: number
  /**
   * Whether the log of this node has the user as revoked: then the credential is rejected
   * everywhere.
   */
  readonly isUserRevoked: boolean
}

export type IssueDeps = Pick<Deps, 'store' | 'keys' | 'views'>

/** Records the credential before the caller gets it. Throws when it must not be issued. */
export type KeepIssued = (issued: SeenCredential, credential: JsonObject) => Promise<void>

/**
 * Signs a credential with the key of the service. When this returns, this node can list it, report
 * its status and revoke it.
 *
 * A revoked user gets one too, and every verifier rejects it, like the other credentials of that
 * user: the log decides at every use, and a check here could only be older. A site that distrusts
 * the service as an issuer, or the key that signs, gets none.
 */
export async function issueForUser(
  deps: IssueDeps,
  order: IssueOrder,
  context: AuditContext,
  keep: KeepIssued = (issued) => deps.store.recordCredentials([issued], context.atMs, context),
): Promise<IssuedToUser> {
  if (order.holderKey !== undefined) checkHolderKey(order.holderKey)
  const { site, signer, ttlSeconds, ppid } = await resolveOrder(deps, order, context)
  const createdMs = signingTime(deps, site.siteId, ppid, context.atMs)
  const credentialId = createCredentialId(context.atMs)
  const expiresAtMs = createdMs + ttlSeconds * 1000
  const { permissionId, holderKey, delegable = false } = order
  const credential = await issueCredential(
    {
      credentialId,
      ppid,
      siteId: site.siteId,
      scope: order.scope,
      validFromMs: createdMs,
      validUntilMs: expiresAtMs,
      ...(permissionId === undefined ? {} : { permissionId }),
      ...(holderKey === undefined ? {} : { holderKey, delegable }),
    },
    { ...signer, createdMs },
  )
  const seen = {
    siteId: site.siteId,
    credentialId,
    ppid,
    issuer: signer.issuer,
    issuerKey: signer.verificationMethod,
    scope: order.scope,
    permissionId: permissionId ?? DEFAULT_PERMISSION_ID,
    chain: [{ credentialId, createdMs, holder: holderKey && (await toHolderThumbprint(holderKey)) }],
    validFromMs: createdMs,
    validUntilMs: expiresAtMs,
    holderBound: holderKey !== undefined,
    source: 'issued',
  } as const
  await keep(seen, credential)
  const isUserRevoked = deps.views.view(site.siteId)?.userRevocation(ppid, createdMs) !== undefined
  return { credential, credentialId, ppid, expiresAtMs, isUserRevoked }
}

/**
 * Turns an order into the claims to sign: issuer, subject, lifetime. Throws the Problem of an order
 * that cannot be fulfilled.
 */
export async function resolveOrder(
  deps: IssueDeps,
  order: Pick<IssueOrder, 'siteId' | 'user' | 'ttlSeconds'>,
  context: AuditContext,
): Promise<{ site: Site; signer: Omit<Signer, 'createdMs'>; ttlSeconds: number; ppid: Ppid }> {
  const site = await deps.store.site(order.siteId)
  if (site === undefined)
    throw new Problem('site_unknown', `This service has no site ${order.siteId}. Check the site_id.`)
  const signer = deps.keys.signer(context.atMs)
  const trust = await loadOwnTrust(deps, site.siteId, signer.verificationMethod, context)
  const ttlSeconds = chooseTtl(order.ttlSeconds, site, trust.credentialTtlSecondsMax)
  const ppid =
    'ppid' in order.user
      ? order.user.ppid
      : derivePpid(
          deps.keys.open(pairwisePurpose(site.siteId), site.pairwiseSecretSealed),
          order.user.userRef,
        )
  return { site, signer, ttlSeconds, ppid }
}

/**
 * Rejects weak holder keys, with which an attacker could sign for the holder.
 */
export function checkHolderKey(holderKey: string): PublicKey {
  const key = parseDidKey(holderKey)
  const fault = key && findKeyFault(key)
  if (key !== undefined && fault === undefined) return key
  const message = fault ?? 'it is not a valid Ed25519 or P-256 key'
  throw new Problem('key_rejected', `The holder_key is not accepted: ${message}. Use another key.`, {
    errors: [{ path: 'holder_key', message }],
  })
}

/**
 * The service as an issuer of this site. The log is enough when it trusts the current key. If not,
 * the store is read, and a new key is added there.
 */
async function loadOwnTrust(
  deps: IssueDeps,
  siteId: SiteId,
  verificationMethod: string,
  context: AuditContext,
): Promise<{ readonly credentialTtlSecondsMax: number | undefined }> {
  const known = deps.views.view(siteId)?.issuer(deps.keys.issuerDid)
  if (known?.keys.get(verificationMethod)?.status === 'active') return known
  const issuer = await ensureOwnIssuer(deps, siteId, context)
  const isActive = issuer.keys.some(
    ({ id, status }) => `${issuer.issuer}#${id}` === verificationMethod && status === 'active',
  )
  if (issuer.status !== 'trusted' || !isActive) {
    throw new Problem(
      'api_key_forbidden',
      'This site does not trust the service, or its current key, as an issuer. Trust it again to issue here.',
    )
  }
  await deps.views.waitFor(issuer.position)
  return issuer
}

/**
 * How long a credential of this site is valid. Throws `ttl_out_of_range` for more than the site or
 * its trust in the issuer allows.
 */
export function chooseTtl(wanted: number | undefined, site: Site, issuerMax: number | undefined): number {
  const max = Math.min(
    limits.credential_lifetime_seconds_max,
    site.credentialTtlSecondsMax ?? Infinity,
    issuerMax ?? Infinity,
  )
  if (wanted === undefined) return Math.min(limits.credential_lifetime_seconds_default, max)
  if (wanted <= max) return wanted
  const message = `must be at most ${max} at this site`
  throw new Problem('ttl_out_of_range', `The ttl_seconds ${message}. Request a shorter lifetime.`, {
    errors: [{ path: 'ttl_seconds', message }],
  })
}

/**
 * The second in which it is signed. A reinstatement or cut-off covers all of its second, so
 * credentials that were signed in that second stay revoked. A credential that is issued right after
 * one gets the next second, which is within the leeway of every verifier.
 */
function signingTime({ views, keys }: IssueDeps, siteId: SiteId, ppid: Ppid, nowMs: number): number {
  const secondMs = Math.floor(nowMs / 1000) * 1000
  const view = views.view(siteId)
  const isCovered = (ms: number) =>
    (view?.userRevocation(ppid, ms) ?? view?.cutOff(keys.issuerDid, ms)) !== undefined
  return [secondMs, secondMs + 1000, secondMs + 2000].find((ms) => !isCovered(ms)) ?? secondMs
}
