import { join } from 'node:path'
import {
  checkGrounds,
  credentialHeader,
  didKey,
  didKeyMethod,
  exportPrivateJwk,
  generatePrivateKey,
  importPrivateKey,
  isDenial,
  issueCredential,
  type JsonObject,
  listHolders,
  type Ppid,
  type PrivateJwk,
  type PrivateKey,
  readCredentialObject,
  type Scope,
  type SiteId,
  toGrounds,
  toHolderThumbprint,
  toPermissionId,
} from '@countersign/core'
import { limits, permissions } from '@countersign/core/contract'
import { createApiKey } from '../actions/api-keys.ts'
import { createSite } from '../actions/create-site.ts'
import { reinstateUser } from '../actions/reinstate-user.ts'
import { resolveUser } from '../actions/resolve-user.ts'
import type { Deps } from '../deps.ts'
import { createCredentialId, derivePpid } from '../keys/ids.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { pairwisePurpose } from '../sealing/purposes.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { SeenCredential } from '../store/operations/credentials.ts'
import { readJsonFile, writePrivate } from './private-file.ts'

/** The contents of `dev.json`, which the development start writes for tools. */
export interface DevFile {
  readonly base_url: string
  /** The address of the admin listener. */
  readonly admin_url?: string
  readonly site_id: string
  readonly operator_key: string
  readonly site_key: string
  readonly issuer: string
  readonly credential: JsonObject
  readonly bound: { readonly credential: JsonObject; readonly holder_private_jwk: PrivateJwk }
  readonly user_ref: string
  readonly ppid: string
  readonly protected_scope: readonly string[]
  readonly webhook_loopback: boolean
}

export interface Demo {
  readonly dev: DevFile
  /** Whether everything existed already. */
  readonly found: boolean
  /** Descriptions of what had expired or was revoked, and was created again. */
  readonly renewed: readonly string[]
  /** The name of a second user, for the commands of the start, which revoke it. */
  readonly visitor: string
}

const USER_REF = 'demo-user'
const VISITOR_REF = 'visitor'
const SCOPE = ['orders:read', 'orders:write']
const LIFE_MS = limits.credential_lifetime_seconds_default * 1000
const LEFT_MS_MIN = 86_400_000

/**
 * Creates what a newcomer needs: a site, an issuer that it trusts, keys and two credentials. A
 * second start finds the same ones. What has expired or was revoked is created again.
 */
export async function prepareDemo(deps: Deps, siteId: SiteId): Promise<Demo> {
  const { config, store, views, clock } = deps
  const file = join(config.dataDir, 'dev.json')
  const before = readJsonFile(file) as Partial<DevFile> | undefined
  const context: AuditContext = { actor: 'system', atMs: clock.nowMs() }
  const renewed: string[] = []

  const known = await store.site(siteId)
  const site =
    known ??
    (await createSite(
      deps,
      {
        siteId,
        name: 'Demo',
        returnUrls: [],
        bearer: 'on',
        holderProof: 'optional',
        delegation: 'on',
        credentialTtlSecondsMax: undefined,
      },
      context,
    ))
  const pairwiseSecret = deps.keys.open(pairwisePurpose(siteId), site.pairwiseSecretSealed)
  const ppid = derivePpid(pairwiseSecret, USER_REF)
  const issuerKey = await loadIssuerKey(join(config.dataDir, 'dev-issuer.json'))
  await trustIssuer(deps, siteId, issuerKey, context)
  const reinstateIfRevoked = async (user_ref: string): Promise<boolean> => {
    const ppids = await resolveUser(deps, siteId, { user_ref })
    const isRevoked = (id: Ppid) => views.view(siteId)?.userRevocation(id, context.atMs) !== undefined
    if (!ppids.some(isRevoked)) return false
    await reinstateUser(deps, { siteId, ppids, reason: 'development start' }, context)
    return true
  }
  if (await reinstateIfRevoked(USER_REF)) renewed.push('the demo user was revoked and has been reinstated')
  await reinstateIfRevoked(VISITOR_REF)

  const keyOrNew = async (secret: string | undefined, of: SiteId | null, label: string) => {
    if (secret !== undefined && (await store.apiKeyBySha256(secretSha256(secret))) !== undefined)
      return secret
    const order = {
      siteId: of,
      permissions: of === null ? [] : permissions,
      label,
      expiresInSeconds: undefined,
    }
    return (await createApiKey(deps, order, context)).secret
  }
  const issue = (holder?: PrivateKey, to = ppid) =>
    issueDemo(deps, { siteId, ppid: to, issuerKey, holder, nowMs: context.atMs })
  const credentialOrNew = async (
    credential: JsonObject | undefined,
    holder: PrivateKey | undefined,
    name: string,
  ) => {
    if (credential !== undefined && (await isStillValid(deps, credential, siteId, ppid))) return credential
    if (credential !== undefined)
      renewed.push(`the ${name} credential had ended or was revoked, and is a new one`)
    return issue(holder)
  }
  const holder = await importHolderKey(before?.bound?.holder_private_jwk)
  const dev: DevFile = {
    base_url: config.baseUrl,
    ...(config.adminPort === undefined
      ? {}
      : { admin_url: `http://${urlHost(config.adminHost)}:${config.adminPort}` }),
    site_id: siteId,
    operator_key: await keyOrNew(before?.operator_key, null, 'development operator'),
    site_key: await keyOrNew(before?.site_key, siteId, 'development'),
    issuer: didKey(issuerKey.publicKey),
    credential: await credentialOrNew(before?.credential, undefined, 'plain'),
    bound: {
      credential: await credentialOrNew(before?.bound?.credential, holder, 'holder-bound'),
      holder_private_jwk: await exportPrivateJwk(holder),
    },
    user_ref: USER_REF,
    ppid,
    protected_scope: config.protectedScope,
    webhook_loopback: true,
  }
  await store.recordCredentials(
    [await toSeenCredential(dev.credential, siteId), await toSeenCredential(dev.bound.credential, siteId)],
    context.atMs,
  )
  writePrivate(file, `${JSON.stringify(dev, null, 2)}\n`)
  // For curl, which reads headers from files: a credential is too long to paste.
  const writeCredential = (name: string, credential: JsonObject) =>
    writePrivate(
      join(config.dataDir, `${name}.header`),
      `X-Service-Credential: ${credentialHeader(credential)}\n`,
    )
  writeCredential('credential', dev.credential)
  // The printed commands revoke this one. The guides and examples need the demo user afterwards.
  writeCredential('visitor', await issue(undefined, derivePpid(pairwiseSecret, VISITOR_REF)))
  writePrivate(join(config.dataDir, 'site-key.header'), `X-API-Key: ${dev.site_key}\n`)
  return { dev, found: known !== undefined, renewed, visitor: VISITOR_REF }
}

/** The development issuer signs outside the service, with a key in a file, as issuers do. */
async function loadIssuerKey(file: string): Promise<PrivateKey> {
  const kept = readJsonFile(file)
  if (kept !== undefined) return importPrivateKey(kept)
  const key = await generatePrivateKey('Ed25519', { extractable: true })
  writePrivate(file, `${JSON.stringify(await exportPrivateJwk(key))}\n`)
  return key
}

async function importHolderKey(jwk: unknown): Promise<PrivateKey> {
  return jwk === undefined
    ? generatePrivateKey('Ed25519', { extractable: true })
    : importPrivateKey(jwk, { extractable: true })
}

async function trustIssuer(
  { store, views }: Deps,
  siteId: SiteId,
  { publicKey }: PrivateKey,
  context: AuditContext,
): Promise<void> {
  const added = await store.addIssuer(
    {
      siteId,
      issuer: didKey(publicKey),
      keys: [{ id: publicKey.multikey, key: publicKey.multikey, status: 'active' }],
      scope: undefined,
      credentialTtlSecondsMax: undefined,
      label: 'Development issuer',
      fetched: false,
    },
    context,
  )
  if (typeof added === 'object') await views.waitFor(added.position)
}

interface DemoGrant {
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly issuerKey: PrivateKey
  readonly holder: PrivateKey | undefined
  readonly nowMs: number
}

async function issueDemo(
  { views }: Deps,
  { siteId, ppid, issuerKey, holder, nowMs }: DemoGrant,
): Promise<JsonObject> {
  // A reinstatement covers all of its second, so a credential that is signed right after it needs
  // a later time.
  const secondMs = Math.floor(nowMs / 1000) * 1000
  const isCovered = (ms: number) => views.view(siteId)?.userRevocation(ppid, ms) !== undefined
  const createdMs = [secondMs, secondMs + 1000, secondMs + 2000].find((ms) => !isCovered(ms)) ?? secondMs
  return issueCredential(
    {
      credentialId: createCredentialId(nowMs),
      ppid,
      siteId,
      scope: SCOPE as Scope[],
      permissionId: 'perm_demo',
      ...(holder === undefined ? {} : { holderKey: didKey(holder.publicKey), delegable: true }),
      validFromMs: createdMs,
      validUntilMs: createdMs + LIFE_MS,
    },
    {
      issuer: didKey(issuerKey.publicKey),
      verificationMethod: didKeyMethod(issuerKey.publicKey),
      key: issuerKey,
      createdMs,
    },
  )
}

/** Gives the lists some rows before the first request. */
async function toSeenCredential(document: JsonObject, siteId: SiteId): Promise<SeenCredential> {
  const signed = readCredentialObject(document)
  if (isDenial(signed)) throw new Error('a credential of our own making cannot be read')
  const { id, ppid, issuer, verificationMethod, scope, createdMs, validFromMs, validUntilMs, holderKey } =
    signed.credential
  return {
    siteId,
    credentialId: id,
    ppid,
    issuer,
    issuerKey: verificationMethod,
    scope,
    permissionId: toPermissionId(signed.credential),
    chain: [{ credentialId: id, createdMs, holder: holderKey && (await toHolderThumbprint(holderKey)) }],
    validFromMs,
    validUntilMs,
    holderBound: holderKey !== undefined,
    source: 'presented',
  }
}

async function isStillValid(
  { views, clock }: Deps,
  credential: JsonObject,
  siteId: SiteId,
  ppid: Ppid,
): Promise<boolean> {
  const signed = readCredentialObject(credential)
  if (isDenial(signed)) return false
  const { credential: claims } = signed
  const view = views.view(siteId)
  const isValid =
    view !== undefined &&
    checkGrounds(toGrounds(claims, await listHolders(claims)), view, clock.nowMs() + LEFT_MS_MIN) ===
      undefined
  return isValid && claims.ppid === ppid
}

/** RFC 3986 §3.2.2. */
function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
