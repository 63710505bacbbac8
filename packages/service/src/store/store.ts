import type {
  ChainLink,
  CredentialId,
  Entry,
  EntryKind,
  JsonObject,
  KeyState,
  LogHead,
  LogPosition,
  PermissionId,
  Ppid,
  Scope,
  SiteId,
} from '@countersign/core'
import type { Permission } from '@countersign/core/contract'
import type { MacTableName } from './mac-tables.ts'

/**
 * Durable storage. Every implementation must pass the store test suite.
 *
 * - Each verb is one transaction: all of it or nothing. When its promise is fulfilled, the change
 *   is on disk and survives the loss of power. When it is rejected, the caller must assume nothing
 *   and acknowledge nothing.
 * - Log entries of one site are numbered 1, 2, 3… without holes, those of all sites together by
 *   `position` likewise. A reader that sees a number sees every lower one. A number is taken only
 *   when nothing can go wrong any more, and never twice.
 * - Doing a thing twice is settled before a number is taken: the second time changes nothing and
 *   says so.
 * - A verb that appends an entry also writes the states it changes and its audit row in the same
 *   transaction.
 * - `StoreUnavailable` is thrown when the store cannot be reached, is full or takes too long;
 *   whether the change happened is then unknown.
 */
export interface Store {
  readonly kind: 'sqlite' | 'postgres'
  /** Whether other nodes may be using it at the same time. */
  readonly isShared: boolean
  /**
   * The name of this log's life. Made when the log is created, and again after a restore or a
   * fail-over, which may have lost entries. It can change while the store is open; the log then
   * begins again at position 1, and what was read of it before counts no more.
   */
  readonly epoch: string

  // Sites
  createSite(site: NewSite, context: AuditContext): Promise<Logged<Site> | 'exists'>
  /**
   * `knownSeq`, here and below: the last entry about this row that the caller's view of the log
   * has, see `LiveViews.lastEntryAbout`. A row that is older than that, or than the entries in the
   * store, was put back by another program: a `RowForged`.
   */
  changeSite(
    siteId: SiteId,
    changes: SiteChanges,
    context: AuditContext,
    knownSeq?: number,
  ): Promise<Logged<Site> | undefined>
  site(siteId: SiteId): Promise<Site | undefined>
  sites(page: Page): Promise<readonly Site[]>

  // Issuers
  /** `too_many`: the site knows `issuersMax` of them already, trusted or not. */
  addIssuer(
    issuer: NewIssuer,
    context: AuditContext,
    issuersMax?: number,
    knownSeq?: number,
  ): Promise<Logged<Issuer> | 'exists' | 'too_many'>
  /**
   * Replaces what is given; a change of status appends `issuer.trusted` or `issuer.distrusted`. A
   * compromised key stays compromised.
   */
  changeIssuer(
    siteId: SiteId,
    issuer: string,
    changes: IssuerChanges,
    context: AuditContext,
    knownSeq?: number,
  ): Promise<Logged<ChangedIssuer> | undefined>
  /** `final`: a compromised key never becomes anything else. */
  changeIssuerKey(
    siteId: SiteId,
    issuer: string,
    keyId: string,
    status: KeyState['status'],
    context: AuditContext,
    knownSeq?: number,
  ): Promise<Logged<ChangedIssuer> | undefined | 'final'>
  issuer(siteId: SiteId, issuer: string): Promise<Issuer | undefined>
  issuers(siteId: SiteId, page: Page): Promise<readonly Issuer[]>
  /** Those of all sites whose documents have to be fetched again. */
  fetchedIssuers(page: Page): Promise<readonly Issuer[]>

  // API keys
  createApiKey(key: NewApiKey, context: AuditContext): Promise<ApiKey>
  deleteApiKey(siteId: SiteId | null, keyId: string, context: AuditContext): Promise<boolean>
  apiKeyBySha256(sha256: string): Promise<ApiKey | undefined>
  /** Those of these that there are. */
  apiKeysById(keyIds: readonly string[]): Promise<readonly ApiKey[]>
  apiKeys(siteId: SiteId | null, page: Page): Promise<readonly ApiKey[]>

  // Credentials and tokens
  /**
   * Records credentials that have been seen. Skips known ones, and those of sites that do not
   * exist. With a context, the actor has issued them here, and each new one gets its audit row,
   * `credential.issue`.
   */
  recordCredentials(seen: readonly SeenCredential[], atMs: number, context?: AuditContext): Promise<void>
  credentials(siteId: SiteId, filter: { ppid?: Ppid }, page: Page): Promise<readonly CredentialRow[]>
  /**
   * Makes a token unless its credential, a parent of it or its user is revoked, at whatever moment
   * that happens. `too_many`: the credential has as many live tokens as it may have. Writes the
   * credential down as well, whatever comes of it, when given what was seen of it.
   */
  createToken(
    token: NewToken,
    livingMax: number,
    nowMs: number,
    seen?: SeenCredential,
  ): Promise<'created' | 'revoked' | 'too_many'>
  token(sha256: string): Promise<TokenRow | undefined>
  tokens(siteId: SiteId, filter: { ppid?: Ppid }, page: Page): Promise<readonly TokenRow[]>

  // Revocation
  /**
   * `alreadyRevoked` is what a table says that carries no MAC, so a caller confirms it with its
   * view of the log. If the view does not confirm it, the caller asks again and passes the seq of
   * that answer: then the revocation is appended all the same, and the row is reported.
   */
  revokeUser(
    user: { siteId: SiteId; ppid: Ppid; reason: string | undefined },
    context: AuditContext,
    unconfirmed?: Unconfirmed,
  ): Promise<Logged<Revoked>>
  /** The same for one credential. */
  revokeCredential(
    credential: { siteId: SiteId; credentialId: CredentialId; reason: string | undefined },
    context: AuditContext,
    unconfirmed?: Unconfirmed,
  ): Promise<Logged<Revoked>>
  /**
   * Undefined when there is no such token, or not at that site (`siteId` undefined asks at all
   * sites); that too leaves an audit row. An `alreadyRevoked` must be confirmed as above;
   * `isUnconfirmed` asks again. Rejects with a `RowForged` for a token with a wrong MAC.
   */
  revokeToken(
    token: { sha256: string; siteId: SiteId | undefined; reason: string | undefined },
    context: AuditContext,
    isUnconfirmed?: boolean,
  ): Promise<Logged<TokenRevocation> | undefined>
  reinstateUser(
    user: { siteId: SiteId; ppid: Ppid; reason: string | undefined },
    context: AuditContext,
  ): Promise<Logged<Reinstated>>
  /**
   * What is known of each id; with a site, only what that site knows. Ids that were never presented
   * or issued are absent.
   */
  statuses(ids: readonly CredentialId[], siteId: SiteId | undefined): Promise<readonly CredentialRow[]>

  // The log
  /**
   * In order of position, from the one after `position`, with the end of the log at the same
   * moment. A row that is no entry is a `LogCorrupted`; an end whose MAC is wrong is a `RowForged`.
   */
  entriesAfter(position: number, limit: number): Promise<LogPage>
  siteEntriesAfter(siteId: SiteId, seq: number, limit: number): Promise<readonly Entry[]>
  /**
   * The same as they stand there, unread and unchecked, for those who have very many of them to go
   * through.
   */
  siteRecordsAfter(siteId: SiteId, seq: number, limit: number): Promise<readonly EntryRecord[]>
  logPosition(): Promise<number>
  /** Where the log of each site ends, by site. */
  siteHeads(page: Page): Promise<readonly SiteHead[]>
  /**
   * The links between epochs that lead to the current one: the newest `limit`, oldest first. A site
   * that was created in the current epoch has none.
   */
  epochLinks(siteId: SiteId, limit: number): Promise<readonly EpochLink[]>
  /**
   * Rejects with a `RowForged` that names the first row of these tables which the service did not
   * write. Reads them whole.
   */
  requireIntactRows(tables: readonly CheckedTable[]): Promise<void>
  /**
   * The first row of a table made from the log that does not say what the log says. Reads all of
   * it.
   */
  derivedFault(): Promise<DerivedFault | undefined>
  /**
   * Calls back when something may have been appended, here or elsewhere. A hint: it may come late,
   * twice or never.
   */
  onAppend(listener: () => void): () => void

  // Webhooks
  /**
   * Entries appended from now on will be sent to it. `too_many`: the site has as many as it may
   * have. Undefined: there is no such site.
   */
  createWebhook(
    webhook: NewWebhook,
    perSiteMax: number,
    context: AuditContext,
  ): Promise<Webhook | 'too_many' | undefined>
  /** Nothing more is sent to it, except what is being sent at this moment. */
  deleteWebhook(siteId: SiteId, webhookId: string, context: AuditContext): Promise<boolean>
  /**
   * The secrets before still sign until then, or until their own end. False when there is no such
   * webhook.
   */
  rotateWebhookSecret(
    siteId: SiteId,
    webhookId: string,
    secretSealed: string,
    previousUntilMs: number,
    context: AuditContext,
  ): Promise<boolean>
  webhook(siteId: SiteId, webhookId: string): Promise<Webhook | undefined>
  webhooks(siteId: SiteId, page: Page): Promise<readonly Webhook[]>
  deliveries(siteId: SiteId, webhookId: string, page: Page): Promise<readonly Delivery[]>
  /**
   * Makes a delivery pending that has ended: it is sent beside the others, which do not wait for
   * it. One that is pending already is due at once, in its place. Undefined when the site has none
   * of that name; `too_many` when a thousand replays of the webhook wait already.
   */
  replayDelivery(
    siteId: SiteId,
    deliveryId: string,
    context: AuditContext,
  ): Promise<Delivery | 'too_many' | undefined>
  /**
   * Webhooks that have something to be sent now and that no node is sending to. Two nodes that ask
   * at once get the same answer.
   */
  dueWebhooks(nowMs: number, limit: number): Promise<readonly string[]>
  /**
   * Takes the lease of a webhook, writes down how the last attempt of the lease's holder ended,
   * makes what is new in the log into deliveries, and gives the one that is due; the lease is held
   * for it. Undefined when nothing is due, and then the lease is given back; or when another node
   * holds it, and then nothing is written. Deliveries come in the order of the log: none before
   * those in front of it have ended.
   */
  nextDelivery(turn: WebhookTurn, ended?: EndedAttempt): Promise<DueDelivery | undefined>
  webhookLoad(): Promise<WebhookLoad>

  // Sign-in and offers. Whatever is asked of a sign-in that has ended, or of another browser's, is
  // as if there were none.
  /**
   * False, and nothing is written, when the site has `openMax` sign-ins already that have not
   * expired. Not exact among several at once.
   */
  createSignIn(
    signIn: NewSignIn,
    limit?: { readonly nowMs: number; readonly openMax: number },
  ): Promise<boolean>
  /**
   * Binds the sign-in to the browser `newSha256` unless it is bound; undefined when it is bound to
   * another than `heldSha256`.
   */
  openSignIn(
    stateSha256: string,
    browser: { readonly heldSha256: string | undefined; readonly newSha256: string },
    nowMs: number,
  ): Promise<SignIn | undefined>
  /**
   * A sign-in in whatever state it is. Rows are kept for a while after their end, so that people
   * can be shown the way back to the site.
   */
  signIn(stateSha256: string): Promise<SignIn | undefined>
  /** Counts one try to present something; undefined after `triesMax` of them. */
  trySignIn(
    stateSha256: string,
    browserSha256: string,
    triesMax: number,
    nowMs: number,
  ): Promise<SignIn | undefined>
  /**
   * Adds a presentation to a sign-in unless its credential, a parent of it or its user is revoked,
   * at whatever moment that happens. Writes the credential down in any case. A sign-in may have
   * several; whichever comes back first counts.
   */
  presentSignIn(
    presentation: NewSignInPresentation,
    seen: SeenCredential,
    nowMs: number,
  ): Promise<'presented' | 'revoked' | 'over'>
  /**
   * Ends a sign-in: for exactly one of all who ask. The presentation is that of the payload, if it
   * belongs to this sign-in and is not too old.
   */
  endSignIn(
    end: SignInEnd,
    nowMs: number,
  ): Promise<{ readonly signIn: SignIn; readonly presentation: SignInPresentation | undefined } | undefined>
  /** Gives a presentation its code, once, unless it is revoked by now. */
  createSignInCode(
    presentation: SignInPresentation,
    code: { readonly codeSha256: string; readonly codeChallenge: string; readonly expiresAtMs: number },
  ): Promise<'created' | 'revoked'>
  /**
   * Uses up a code: for exactly one of all who ask with the right challenge, before its end, and
   * never for a user who is revoked by now.
   */
  redeemSignIn(
    codeSha256: string,
    codeChallenge: string,
    nowMs: number,
  ): Promise<SignInPresentation | undefined>
  createOffer(offer: NewOffer, context: AuditContext): Promise<void>
  /** The caller checks whether the offer has expired, was killed or is claimed already. */
  offer(sha256: string): Promise<Offer | undefined>
  /**
   * Claims an offer for a holder key and records what was issued for it, once. Answers with the
   * credential that the offer was claimed for: the given one, or that of an earlier claim with the
   * same key. Undefined when another key has claimed the offer, and when it has expired or was
   * killed.
   */
  claimOffer(
    sha256: string,
    claim: OfferClaim,
    issued: SeenCredential,
    context: AuditContext,
  ): Promise<JsonObject | undefined>

  // Who follows the feeds. Not worth keeping for long: whatever stands here ends with its
  // connection, or soon after its node.
  /**
   * Renews the lease of a node, writes its streams down and removes those that are over. `begun`:
   * the node had no lease any more, so its streams may have been cleared away and must all be told
   * again.
   */
  reportStreams(report: StreamReport): Promise<'kept' | 'begun'>
  /** The node has ended, and its streams with it. */
  endFeedNode(nodeId: string, nowMs: number): Promise<void>
  /** All nodes that are there, and those that vanished within the last hour. */
  feedNodes(): Promise<readonly FeedNodeRow[]>
  /**
   * Notes acknowledgements at the streams they are for, on whatever node; none moves back. Answers
   * with those that matched no stream here.
   */
  applyAcks(claims: readonly RemoteAck[], nowMs: number): Promise<readonly RemoteAck[]>
  /** The streams of a site, on all nodes whose lease has not run out. */
  feedStreams(siteId: SiteId, nowMs: number, page: Page): Promise<readonly FeedStreamRow[]>

  // Leases: which verifier instances may accept with the revocation data that they have
  /**
   * Writes or renews the lease of an instance before it is given a signed head. `full`: the key has
   * `liveMax` live leases, and nothing was written.
   */
  openLease(order: LeaseOrder): Promise<'open' | 'full'>
  /** These streams have ended. A lease whose instance has another stream is left alone. */
  endLeaseStreams(ends: readonly LeaseEnd[]): Promise<void>
  /** The streams of all other nodes have ended: for a store that one process has to itself. */
  endLeaseStreamsOfOthers(nodeId: string, nowMs: number): Promise<void>
  /**
   * Writes acknowledgements to the leases they are for. None moves back, and none makes a lease. An
   * instance that acknowledges after it has closed is not closed, and neither is one that was
   * opened again since.
   */
  applyLeaseAcks(claims: readonly LeaseAcks[]): Promise<void>
  /**
   * Closes the leases of an instance that fails open. False when it has none that is not closed.
   */
  dismissLease(siteId: SiteId, instanceId: string, nowMs: number, context: AuditContext): Promise<boolean>
  /**
   * The leases of a site by key and instance: all live ones, and those that ended within the last
   * day.
   */
  leases(siteId: SiteId, page: LeasePage): Promise<readonly LeaseRow[]>
  /** Readers without a lease may be given heads of these sites until then. */
  recordHeadReaders(siteIds: readonly SiteId[], untilMs: number): Promise<void>
  /**
   * Until when readers without a lease may have been given heads of the site; 0 when there were
   * none lately.
   */
  headReadersUntil(siteId: SiteId): Promise<number>
  /** The log of this epoch was committed up to `position` by that time. */
  recordLogTime(position: number, atMs: number): Promise<void>
  /**
   * The position of an entry and a noted time by which it had been committed. Undefined when none
   * has been noted since.
   */
  committedBy(
    siteId: SiteId,
    seq: number,
  ): Promise<{ readonly position: number; readonly atMs: number } | undefined>

  // What may be used once
  /** True for exactly one of all who ever ask for this kind and name before `expiresAtMs`. */
  consumeOnce(
    kind: 'nonce' | 'state' | 'code' | 'payload' | 'offer',
    sha256: string,
    expiresAtMs: number,
  ): Promise<boolean>
  /**
   * Begins a request under an idempotency key. `begun` for exactly one of all who ask at the same
   * time.
   */
  beginIdempotent(key: IdempotencyKey, expiresAtMs: number, nowMs: number): Promise<IdempotencyState>
  finishIdempotent(key: IdempotencyKey, answer: KeptAnswer): Promise<void>
  /** The request came to nothing; the key may be used again. */
  abandonIdempotent(key: IdempotencyKey): Promise<void>

  // Audit, secrets, time
  audit(row: NewAuditRow): Promise<void>
  auditRows(siteId: SiteId | null, page: Page): Promise<readonly AuditRow[]>
  /**
   * Sealed by the caller; the store sees only what it cannot read. The first value put under a name
   * stays unless `replace` is set. Here and wherever else something sealed is written:
   * `StoreUnavailable` when the master key of the store has been changed since it was sealed.
   */
  putSecret(name: string, sealed: string, options?: { replace?: boolean }): Promise<string>
  secret(name: string): Promise<string | undefined>
  /** The highest time that this store has confirmed since the last reset. */
  confirmedTime(): Promise<ConfirmedTime>
  /**
   * The same after it was moved to `atMs`, if that is later and the node that reports it knows of
   * the last reset.
   */
  confirmTime(atMs: number, resets: number): Promise<ConfirmedTime>
  /**
   * Sets the confirmed time, back too, and gives what it was. For an operator who has looked at the
   * clocks.
   */
  resetTime(atMs: number, context: AuditContext): Promise<{ readonly fromMs: number }>
  /**
   * Removes what has ended: tokens, sign-ins, offers, used-once names, idempotency keys, old
   * deliveries, streams of nodes that are gone. Never anything of the log.
   */
  purgeExpired(nowMs: number): Promise<void>

  /**
   * Why the store cannot be written, though it may still be read; undefined while writes succeed.
   */
  writeFault(): string | undefined
  /** Rejects when the store cannot be asked. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The store cannot be asked, or did not answer in time. Nothing may be acknowledged. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable'
}

/**
 * A row was not written by the service, was changed or put back since, or is missing although the
 * log knows of it. Nothing may rest on it.
 */
export class RowForged extends StoreUnavailable {
  override readonly name = 'RowForged'
  readonly table: string
  readonly key: string

  constructor(table: string, key: string) {
    super(
      `The row ${key} of ${table} is not as this service wrote it last: its MAC is wrong, it was put back as it was before, or it was removed. Run countersign audit-log, find out who writes to the store, and restore a backup.`,
    )
    this.table = table
    this.key = key
  }
}

/**
 * The log is no longer the one that was followed so far. Stays inside the store, which finds its
 * new epoch.
 */
export class EpochChanged extends Error {
  override readonly name = 'EpochChanged'
}

/** Who does something, and when. */
export interface AuditContext {
  /**
   * `operator:<key_id>`, `key:<key_id>`, `holder:<credential_id>` or `system`; an operator at the
   * command line is `operator`.
   */
  readonly actor: string
  readonly atMs: number
  readonly requestId: string | undefined
}

/**
 * A result, and how far the log must have been read to know it: 0 when there is nothing to read. Of
 * a revocation that was made before, the position of the first one: a caller that repeats it on
 * another node must not be told that it counts before that node has heard of it.
 */
export type Logged<T> = T & { readonly position: number }
/**
 * A page of a list in its fixed order: at most `limit` rows after the row that `after` names, which
 * may have gone since. A row's name is its id: site_id, issuer, key_id, webhook_id, credential_id,
 * jti, audit id; of `fetchedIssuers`, site_id, a space and the issuer; of a delivery, its seq.
 * Audit rows and deliveries come newest first.
 */
export interface Page {
  readonly after: string | undefined
  readonly limit: number
}

export interface NewSite {
  readonly siteId: SiteId
  readonly name: string | undefined
  readonly returnUrls: readonly string[]
  /** For which hosts forward-auth accepts holder proofs; undefined: the name of the site only. */
  readonly hosts?: readonly string[] | undefined
  readonly bearer: 'on' | 'off'
  readonly holderProof: 'optional' | 'required'
  readonly credentialTtlSecondsMax: number | undefined
  /** How long signed heads of the site are valid. Default 60. */
  readonly maxStalenessSecondsMax?: number
  /** From which the ppids of its users are made; sealed by the caller. */
  readonly pairwiseSecretSealed: string
}
export interface Site extends NewSite {
  readonly maxStalenessSecondsMax: number
  /**
   * Heads before that entry were valid for so long; undefined when the setting was never lowered.
   */
  readonly stalenessBefore: { readonly seconds: number; readonly seq: number } | undefined
  readonly createdAtMs: number
}
export type SiteChanges = Partial<
  Pick<NewSite, 'returnUrls' | 'bearer' | 'holderProof' | 'maxStalenessSecondsMax'>
> & {
  readonly name?: string | null
  readonly hosts?: readonly string[] | null
  readonly credentialTtlSecondsMax?: number | null
}

export interface NewIssuer {
  readonly siteId: SiteId
  readonly issuer: string
  readonly keys: readonly KeyState[]
  /** Undefined: no cap. */
  readonly scope: readonly Scope[] | undefined
  readonly credentialTtlSecondsMax: number | undefined
  readonly label: string | undefined
  /**
   * Whether its keys come from a document that is fetched again and again, rather than from its
   * name or by hand.
   */
  readonly fetched: boolean
}
export interface Issuer extends NewIssuer {
  readonly status: 'trusted' | 'distrusted'
  readonly createdAtMs: number
}
export interface ChangedIssuer extends Issuer {
  /** What the log says of it; undefined when verifiers need not hear of the change. */
  readonly entry: SiteEntryPosition | undefined
}
export interface IssuerChanges {
  readonly status?: 'trusted' | 'distrusted'
  /**
   * One that is there already keeps its status: the author of the list may not have heard what the
   * site has said of the key since.
   */
  readonly keys?: readonly KeyState[]
  /** Changes nothing once the keys have been pinned by hand: for what a document said. */
  readonly whileFetched?: true
  /** False once its keys have been pinned by hand. */
  readonly fetched?: boolean
  readonly scope?: readonly Scope[] | null
  readonly credentialTtlSecondsMax?: number | null
  readonly label?: string | null
}

export interface NewApiKey {
  readonly keyId: string
  /** Null for an operator. */
  readonly siteId: SiteId | null
  readonly sha256: string
  readonly last4: string
  readonly permissions: readonly Permission[]
  readonly label: string | undefined
  readonly expiresAtMs: number | undefined
}
export interface ApiKey extends NewApiKey {
  readonly createdAtMs: number
}

export interface SeenCredential {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly ppid: Ppid
  readonly issuer: string
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId
  /**
   * The credential itself first: a delegated one is revoked with any of its parents, so its status
   * depends on them.
   */
  readonly chain: readonly ChainLink[]
  readonly validFromMs: number
  readonly validUntilMs: number
  readonly holderBound: boolean
  readonly source: 'issued' | 'exchanged' | 'presented' | 'sign_in'
}
export interface CredentialRow extends SeenCredential {
  readonly knownAtMs: number
  readonly revocation:
    | { readonly type: 'user' | 'credential'; readonly atMs: number; readonly reason: string | undefined }
    | undefined
}

export interface NewToken {
  readonly sha256: string
  readonly jti: string
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId
  /**
   * The credential itself first, then its parents up to the root, with the moment each was signed.
   */
  readonly chain: readonly ChainLink[]
  readonly issuer: string
  /** The verificationMethod that signed the root. */
  readonly issuerKey: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}
export interface TokenRow extends NewToken {
  readonly revokedAtMs: number | undefined
}

export interface NewSignIn {
  readonly stateSha256: string
  readonly siteId: SiteId
  readonly returnUrl: string
  /** Undefined: whatever the credential gives. */
  readonly requestedScope: readonly Scope[] | undefined
  /** The integration's own state; sealed by the caller. */
  readonly clientStateSealed: string | undefined
  readonly codeChallenge: string
  readonly expiresAtMs: number
}
export interface SignIn extends NewSignIn {
  /** Undefined until a browser has opened it. */
  readonly browserSha256: string | undefined
  /** How often a credential has been presented. */
  readonly tries: number
}

/** A credential that was accepted for a sign-in. */
export interface NewSignInPresentation {
  readonly payloadSha256: string
  readonly stateSha256: string
  readonly siteId: SiteId
  readonly ppid: Ppid
  /** What the site is told. */
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId
  /** As in a token. */
  readonly chain: readonly ChainLink[]
  readonly issuer: string
  readonly issuerKey: string
  readonly verifiedAtMs: number
  readonly credentialEndsAtMs: number
  /** Of the payload; later of the code. */
  readonly expiresAtMs: number
}
export interface SignInPresentation extends NewSignInPresentation {
  /** The user was revoked since. */
  readonly isCancelled: boolean
}

export interface SignInEnd {
  readonly stateSha256: string
  readonly browserSha256: string
  readonly payloadSha256: string | undefined
  readonly as: 'consumed' | 'cancelled'
}

/** A credential that a user may claim once, with a key of their own. */
export interface NewOffer {
  readonly sha256: string
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId | undefined
  readonly ttlSeconds: number | undefined
  readonly expiresAtMs: number
}
export interface Offer extends NewOffer {
  /** On whose word it was made. */
  readonly actor: string
  /** The user was revoked since. */
  readonly isCancelled: boolean
  /** Kept until the offer expires, so that a claim whose answer was lost can be repeated. */
  readonly claim: OfferClaim | undefined
}
export interface OfferClaim {
  readonly holderKey: string
  /** Signed, and bound to that key. */
  readonly credential: JsonObject
}

export interface Revoked extends LogPosition {
  /** The newest known one; null when none was ever seen. */
  readonly credentialId: CredentialId | null
  readonly credentialIds: readonly CredentialId[]
  readonly alreadyRevoked: boolean
  readonly revokedAtMs: number
  readonly tokensRevoked: number
}
/** The answer of a table that the log does not confirm, by the seq that it named. */
export type Unconfirmed = Pick<Revoked, 'seq'>
/** The position of an entry, and when it was written. */
export interface EntryPosition extends LogPosition {
  readonly atMs: number
}
export interface SiteEntryPosition extends EntryPosition {
  readonly siteId: SiteId
}
export interface TokenRevocation {
  readonly alreadyRevoked: boolean
  readonly token: TokenRow
  /** Undefined when it was revoked before. */
  readonly entry: SiteEntryPosition | undefined
}
export interface Reinstated extends LogPosition {
  readonly reinstatedAtMs: number
  readonly alreadyActive: boolean
}

export interface SiteHead extends LogHead {
  readonly siteId: SiteId
}

/**
 * States that the log of a site in `epoch` continues the log of `previous.epoch` from that head,
 * and from no later one.
 */
export interface EpochLink {
  readonly epoch: string
  readonly previous: LogHead
  readonly atMs: number
}

export interface LoggedEntry {
  readonly position: number
  readonly entry: Entry
}

/** Entries of all sites, and where the log ended when they were read. */
export interface LogPage {
  readonly entries: readonly LoggedEntry[]
  readonly end: LogEnd
}
/**
 * The last position, and the digest of all entries up to it: see `nextDigest`. The service has
 * written all of it.
 */
export interface LogEnd {
  readonly position: number
  readonly digest: string
  /** How many API keys have ever been deleted; never less than before. */
  readonly keysDeleted: number
}

/** A row of a table that is made from the log is missing, or does not say what the log says. */
export interface DerivedFault {
  readonly table: string
  readonly key: string
  readonly fault: 'row_missing' | 'row_differs'
}

/**
 * Tables whose rows carry a MAC, other than the log row and the heads, which are checked whenever
 * they are read.
 */
export type CheckedTable = Exclude<MacTableName, 'log' | 'heads'>

/** A time on record, and how often an operator has set it by hand. */
export interface ConfirmedTime {
  readonly atMs: number
  readonly resets: number
}

export interface NewWebhook {
  readonly webhookId: string
  readonly siteId: SiteId
  readonly url: string
  /** Undefined: all. */
  readonly kinds: readonly EntryKind[] | undefined
  /** Sealed by the caller, for this very webhook. */
  readonly secretSealed: string
}
export interface Webhook extends Omit<NewWebhook, 'secretSealed'> {
  readonly status: 'on' | 'disabled'
  readonly createdAtMs: number
}

export interface Delivery {
  readonly deliveryId: string
  readonly webhookId: string
  readonly siteId: SiteId
  readonly kind: EntryKind
  readonly epoch: string
  readonly seq: number
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly createdAtMs: number
  /** Undefined when it has ended. */
  readonly nextAttemptAtMs: number | undefined
  readonly deliveredAtMs: number | undefined
  /** What the receiver last answered; undefined when it did not. */
  readonly lastStatus: number | undefined
}

/** A node's turn at sending to a webhook. No other node sends to it until the lease ends. */
export interface WebhookTurn {
  readonly webhookId: string
  readonly owner: string
  readonly nowMs: number
  readonly leaseMs: number
  /** Only writes down how it ended, and gives the lease back. */
  readonly leave?: boolean
}

export interface DueDelivery extends Delivery {
  readonly url: string
  /** The newest first, then those that still sign beside it. */
  readonly secretsSealed: readonly string[]
  /** When the first of the failures was that no success has followed. */
  readonly failingSinceMs: number | undefined
  /** Undefined when the log does not have it any more. */
  readonly entry: Entry | undefined
}

export interface EndedAttempt {
  readonly deliveryId: string
  /** `untold`: it was cut short by us, counts for nothing and is made again. */
  readonly end: 'delivered' | 'failed' | 'untold' | { readonly againAtMs: number }
  readonly lastStatus: number | undefined
  /**
   * Why nothing more is to be sent to this webhook. What waits has failed then; an audit row says
   * so.
   */
  readonly disable?: string | undefined
}

export interface WebhookLoad {
  readonly pending: number
  readonly oldestPendingAtMs: number | undefined
  readonly failed: number
  /** Webhooks that nothing is sent to any more. */
  readonly disabled: number
}

/** What stands in the store of an entry, besides the hashes that follow from it. */
export interface EntryRecord {
  readonly seq: number
  readonly kind: string
  /** Canonical JSON. */
  readonly body: string
  readonly at: string
}

/** That everything up to `seq` was applied, and when that was heard. */
export interface Acknowledged {
  readonly seq: number
  readonly atMs: number
}
/** A connection that follows the feed of a site. */
export interface FeedStreamRow {
  readonly streamId: string
  readonly nodeId: string
  readonly siteId: SiteId
  readonly keyId: string
  readonly verifierId: string
  /** Whether it chose that name itself. */
  readonly isNamed: boolean
  readonly connectedAtMs: number
  readonly epoch: string
  /** How far it has applied the log, as it says. */
  readonly seq: number
  /** The last few, oldest first. */
  readonly acks: readonly Acknowledged[]
}
/** What a node knows of the log and how long it may decide with it. */
export interface NodeView {
  readonly ageMsMax: number
  readonly epoch: string
  /** The last positions that it has applied, with their times, oldest first. */
  readonly marks: readonly { readonly position: number; readonly atMs: number }[]
}
export interface FeedNodeRow {
  readonly nodeId: string
  readonly expiresAtMs: number
  readonly view: NodeView
}
export interface StreamReport {
  readonly nodeId: string
  readonly nowMs: number
  readonly view: NodeView
  /** Until when the node counts as there. */
  readonly expiresAtMs: number
  readonly streams: readonly FeedStreamRow[]
  /** Ids of streams that are over. */
  readonly ended: readonly string[]
}
/** An acknowledgement, by a client with that key. */
export interface RemoteAck extends Acknowledged {
  readonly siteId: SiteId
  readonly keyId: string
  /** Undefined: by a reader without a name. */
  readonly verifierId: string | undefined
  readonly epoch: string
}

/** One verifier instance at one site under one key. */
export interface LeaseName {
  readonly siteId: SiteId
  readonly keyId: string
  readonly instanceId: string
}
/** What a verifier declares when it asks for a signed head. */
export interface LeaseTerms extends LeaseName {
  readonly verifierId: string
  /** Whether that is a configured name. */
  readonly isNamed: boolean
  /** It rejects everything when its last signed head is older. */
  readonly boundMs: number
  /** It goes on accepting all the same. */
  readonly failsOpen: boolean
}
export interface LeaseOrder extends LeaseTerms {
  readonly nodeId: string
  /** Undefined for a snapshot. */
  readonly streamId: string | undefined
  readonly epoch: string
  readonly nowMs: number
  readonly liveMax: number
}
export interface LeaseEnd extends LeaseName {
  readonly streamId: string
  readonly atMs: number
}
export interface LeaseRow extends LeaseTerms {
  /** Before it was given its first signed head. */
  readonly openedAtMs: number
  /** When it last asked for a stream or a snapshot. */
  readonly declaredAtMs: number
  /** Empty while it has no stream. */
  readonly nodeId: string
  readonly streamId: string
  /** Until when that node counts as there; 0 for a store with one node. */
  readonly nodeUntilMs: number
  readonly connectedAtMs: number
  /** When it was last given a signed head, while it has no stream. */
  readonly servedAtMs: number
  readonly epoch: string
  readonly seq: number
  readonly acks: readonly Acknowledged[]
  /** Of its last acknowledgement; 0 before the first. */
  readonly heardAtMs: number
  /**
   * When it declared that it rejects everything from then on. Without effect while it has a stream.
   */
  readonly closedAtMs: number | undefined
}
/** What an instance has acknowledged, oldest first. */
export interface LeaseAcks extends LeaseName {
  readonly epoch: string
  readonly acks: readonly Acknowledged[]
  readonly heardAtMs: number
  /** Set when the instance has closed. */
  readonly closedAtMs: number | undefined
}
export interface LeasePage {
  readonly after: Pick<LeaseName, 'keyId' | 'instanceId'> | undefined
  readonly limit: number
}

export interface IdempotencyKey {
  /** Whose key: a digest of the caller, with method and path. */
  readonly owner: string
  readonly sha256: string
  readonly requestSha256: string
}
/** `secret`: it was answered with something shown only once, which is not kept. */
export type KeptAnswer = { readonly kind: 'answer'; readonly sealed: string } | { readonly kind: 'secret' }
export type IdempotencyState = 'begun' | 'running' | 'other_request' | KeptAnswer

export interface NewAuditRow {
  /** Null for what concerns no site. */
  readonly siteId: SiteId | null
  readonly action: string
  /** What was acted on: an id, never a secret. */
  readonly target: string | undefined
  /**
   * Lists show `outcome` (`done` when absent, `unchanged`, `refused`), `reason` and `seq` of it.
   */
  readonly detail: Readonly<Record<string, string | number | boolean | readonly string[] | null>>
  readonly context: AuditContext
}
export interface AuditRow extends NewAuditRow {
  readonly id: string
}
