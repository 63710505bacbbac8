import type { CredentialId, Ppid } from '../credential/ids.ts'
import { parseSubjectKey, type SubjectKey } from '../jwt/derived-ids.ts'
import type { SiteSettings } from '../verify/trust.ts'
import type { CheckedEntry } from './chain.ts'
import type { SettingsState } from './entry.ts'
import { IssuerTable } from './issuer-table.ts'
import { isOAuthIssuer } from './oauth-issuer.ts'
import { OAuthIssuerTable } from './oauth-issuer-table.ts'
import type { PackLine } from './packs.ts'
import { parseEntryTime } from './parse-entry-time.ts'
import type { LogHead } from './position.ts'
import { Revocations } from './revocations.ts'
import type { TableSeed } from './revoked-table.ts'
import type { IssuerLine, OAuthIssuerLine, SnapshotLine } from './snapshot.ts'

/**
 * The settings, issuers and revocations of a site after the entries up to `head`. Does not check
 * whether an entry continues the log; `SiteView` does.
 */
export class SiteState {
  head: LogHead
  settings: SiteSettings = {
    bearer: 'off',
    holderProof: 'required',
    delegation: 'off',
    credentialTtlSecondsMax: undefined,
  }
  hasSite = false
  readonly revocations: Revocations
  issuers: IssuerTable
  oauthIssuers: OAuthIssuerTable
  /** Only snapshots contain it; the service sets it itself. */
  subjectKey: SubjectKey | undefined
  #ownsIssuers: boolean

  /**
   * With `base`, this is the state after further entries: issuers and settings start from those of
   * `base`, which does not change, and `revocations` has only the new ones.
   */
  constructor(seed: TableSeed, head: LogHead, base?: SiteState) {
    this.head = head
    this.revocations = new Revocations(seed)
    this.issuers = base?.issuers ?? new IssuerTable()
    this.oauthIssuers = base?.oauthIssuers ?? new OAuthIssuerTable()
    this.#ownsIssuers = base === undefined
    if (base === undefined) return
    this.settings = base.settings
    this.hasSite = base.hasSite
    this.subjectKey = base.subjectKey
  }

  apply(entry: CheckedEntry): void {
    const { kind, body } = entry
    switch (kind) {
      case 'user.revoked':
        this.revocations.revokeUser(body.ppid, toMs(body.revoked_at))
        break
      case 'user.reinstated':
        this.revocations.reinstateUser(body.ppid, toMs(body.reinstated_at))
        break
      case 'user.signed_out':
        this.revocations.signOutUser(body.ppid, toMs(body.before))
        break
      case 'credential.revoked':
        this.revocations.revokeCredential(body.credential_id, toMs(body.revoked_at))
        break
      case 'token.revoked':
        this.revocations.revokeToken(body.token_sha256, toMs(body.revoked_at))
        break
      case 'holder.revoked':
        this.revocations.revokeHolder(body.thumbprint, toMs(body.revoked_at))
        break
      case 'issuer.trusted':
        this.#ownIssuers()
        this.issuers.trust(body, toMs(entry.at))
        break
      case 'oauth_issuer.trusted':
        this.#ownIssuers()
        this.oauthIssuers.trust(body, toMs(entry.at))
        break
      case 'issuer.distrusted':
        this.#ownIssuers()
        if (isOAuthIssuer(body.issuer)) this.oauthIssuers.distrust(body.issuer, toMs(entry.at))
        else this.issuers.distrust(body.issuer, toMs(entry.at))
        break
      case 'issuer.cut_off':
        this.revocations.cutOffIssuer(body.issuer, toMs(body.before))
        break
      case 'key.retired':
        this.#ownIssuers()
        if (isOAuthIssuer(body.issuer)) this.oauthIssuers.retire(body.issuer, body.key_id, body.at)
        else this.issuers.retire(body.issuer, body.key_id, toMs(body.at))
        break
      case 'key.compromised':
        this.#ownIssuers()
        if (isOAuthIssuer(body.issuer)) this.oauthIssuers.compromise(body.key_id, toMs(body.at))
        else this.issuers.compromise(body.issuer, body.key_id, toMs(body.at))
        break
      case 'site.changed':
        this.#change(body, this.#wasBearerOff(body) ? entry.at : undefined)
        break
      case 'site.cut_off':
        this.revocations.cutOffSite(toMs(body.before))
        break
      default:
        throwUnknownKind(kind)
    }
    this.head = { epoch: entry.epoch, seq: entry.seq, hash: entry.hash }
  }

  /** Adds a line of a snapshot that was made at `asOf`. */
  add(line: SnapshotLine, asOf: string): void {
    switch (line.type) {
      case 'users':
      case 'credentials':
      case 'tokens':
        this.#addPack(line)
        break
      case 'credential':
        this.revocations.revokeCredential(line.credential_id, toMs(line.revoked_at))
        break
      case 'token':
        this.revocations.revokeToken(line.token_sha256, toMs(line.revoked_at))
        break
      case 'holder':
        this.revocations.revokeHolder(line.thumbprint, toMs(line.revoked_at))
        break
      case 'signed_out':
        this.revocations.signOutUser(line.ppid, toMs(line.before))
        break
      case 'cut_off':
        if (line.issuer === null) this.revocations.cutOffSite(toMs(line.before))
        else this.revocations.cutOffIssuer(line.issuer, toMs(line.before))
        break
      case 'user':
        this.revocations.revokeUser(line.ppid, toMs(line.revoked_at))
        if (line.reinstated_at !== undefined)
          this.revocations.reinstateUser(line.ppid, toMs(line.reinstated_at))
        if (line.revoked_again_at !== undefined)
          this.revocations.revokeUser(line.ppid, toMs(line.revoked_again_at))
        break
      case 'issuer':
        this.#addIssuer(line, asOf)
        break
      case 'site':
        this.#change(line, line.bearer_off_at)
        this.subjectKey = parseSubjectKey(line.subject_key)
        break
      case 'oauth_key':
        this.oauthIssuers.compromise(line.key_id, toMs(line.compromised_at))
        break
      case 'oauth_issuer':
        this.#addOAuthIssuer(line, asOf)
        break
      default:
        throwUnknownKind(line)
    }
  }

  #addPack(line: PackLine): void {
    const sinceMs = toMs(line.since)
    const { revocations } = this
    for (let i = 0; i < line.ids.length; i++) {
      const atMs = sinceMs + (line.ms[i] as number)
      if (line.type === 'users') revocations.revokeUser(line.ids[i] as Ppid, atMs)
      else if (line.type === 'credentials') revocations.revokeCredential(line.ids[i] as CredentialId, atMs)
      else revocations.revokeToken(line.ids[i] as string, atMs)
    }
  }

  /** Clones the issuers of `base` before the first change. Most entries change no issuer. */
  #ownIssuers(): void {
    if (this.#ownsIssuers) return
    this.issuers = this.issuers.clone()
    this.oauthIssuers = this.oauthIssuers.clone()
    this.#ownsIssuers = true
  }

  #addOAuthIssuer({ state, distrusted_at }: OAuthIssuerLine, asOf: string): void {
    this.oauthIssuers.trust(state, toMs(asOf))
    if (distrusted_at !== null) this.oauthIssuers.distrust(state.issuer, toMs(distrusted_at))
  }

  #addIssuer(line: IssuerLine, asOf: string): void {
    const { issuer, distrusted_at: distrustedAt } = line
    const asOfMs = toMs(asOf)
    for (const { key_id, key, at } of line.compromised)
      this.issuers.compromise(issuer, key_id, toMs(at), key ?? undefined)
    if (line.status === 'trusted') {
      this.issuers.trust(line, asOfMs)
    } else if (typeof distrustedAt === 'string') {
      // The keys of a distrusted issuer are still needed: one of them may be marked as compromised
      // later.
      this.issuers.trust(line, asOfMs)
      this.issuers.distrust(issuer, toMs(distrustedAt))
    }
  }

  /**
   * When bearer tokens are switched on again, they were off until that moment. A token that a node
   * issued before it learned about it stays invalid.
   */
  #wasBearerOff({ bearer }: SettingsState): boolean {
    return bearer === 'off' || (this.hasSite && this.settings.bearer === 'off')
  }

  #change(
    { bearer, holder_proof, delegation, credential_ttl_seconds_max }: SettingsState,
    bearerOffAt: string | undefined,
  ): void {
    const offMs = bearerOffAt === undefined ? undefined : toMs(bearerOffAt)
    const before = this.settings.bearerOffMs
    this.settings = {
      bearer,
      bearerOffMs: offMs === undefined || before === undefined ? (offMs ?? before) : Math.max(offMs, before),
      holderProof: holder_proof,
      delegation,
      credentialTtlSecondsMax: credential_ttl_seconds_max ?? undefined,
    }
    this.hasSite = true
  }
}

/** Untyped callers must not be able to skip an entry. */
function throwUnknownKind(kind: never): never {
  throw new TypeError(`a view cannot apply ${JSON.stringify(kind)}`)
}

function toMs(time: string): number {
  const ms = parseEntryTime(time)
  if (ms === undefined) throw new TypeError('a log entry has an invalid time; parse the entry first')
  return ms
}
