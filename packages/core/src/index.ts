/**
 * `@countersign/core`: create, sign, send, delegate and verify access credentials, and follow the
 * revocation log. No I/O, no clock, no environment. Internal modules may change without notice; the
 * HTTP interface is in `@countersign/core/contract`.
 */

export { type BodyFault, type CredentialBody, readCredentialBody } from './credential/body.ts'
export { type ChainLink, findRoot, listChain } from './credential/chain.ts'
export {
  CREDENTIAL_CONTEXT,
  CREDENTIAL_TYPE,
  type Credential,
  DEFAULT_PERMISSION_ID,
  type ProofClaims,
  type SignedCredential,
  toPermissionId,
} from './credential/credential.ts'
export { type DelegationTerms, delegateCredential } from './credential/delegate.ts'
export { type Denial, type DenialCode, deny, isDenial } from './credential/denial.ts'
export {
  bearerChallenge,
  credentialChallenge,
  DPOP_ALGORITHMS,
  type GuardProblemCode,
  guardProblems,
  type OAuthHints,
  oauthChallenge,
  type ProblemSummary,
  problemType,
  resourceChallenge,
} from './credential/guard-problems.ts'
export { CREDENTIAL_HEADER, credentialHeader } from './credential/header.ts'
export {
  type CredentialId,
  credentialDid,
  isDerivedId,
  type PermissionId,
  type Ppid,
  parseCredentialDid,
  parseCredentialId,
  parsePermissionId,
  parsePpid,
  parseScope,
  parseScopeList,
  parseSiteId,
  type Scope,
  type SiteId,
} from './credential/ids.ts'
export { type Grant, issueCredential, type Signer } from './credential/issue.ts'
export {
  findBearerMistake,
  findPresentation,
  isJwtForm,
  type Presentation,
  type PresentedJwt,
} from './credential/presentation.ts'
export { readCredentialHeader, readCredentialObject } from './credential/read.ts'

export { decodeBase64url, encodeBase64url } from './encoding/base64url.ts'
export { canonicalJson } from './encoding/jcs.ts'
export {
  isJsonObject,
  type JsonFault,
  type JsonObject,
  type JsonOptions,
  type JsonValue,
  type ParsedJson,
  parseJson,
} from './encoding/json.ts'
export { formatTime, parseTime } from './encoding/rfc3339.ts'

export { checkHolderProof, type ExpectedHolder, type HolderProof, WRONG_SIGNATURE } from './holder/check.ts'
export { consumeHolderProof } from './holder/consume.ts'
export {
  createMemoryNonces,
  type MemoryNoncesOptions,
  type NonceAnswer,
  type NonceStore,
  type NonceUse,
} from './holder/nonces.ts'
export { type HolderRequest, holderRequestFrom } from './holder/request.ts'
export { type ProofFields, type SignRequestOptions, signRequest } from './holder/sign.ts'
export { isLoopbackHost, isSiteHost, parseSiteHost } from './holder/site-host.ts'
export { isPromise } from './is-promise.ts'
export {
  deriveSessionId,
  deriveSubjectPpid,
  deriveTokenId,
  deriveUserRefPpid,
  type SubjectKey,
} from './jwt/derived-ids.ts'
export { DPOP_HEADER, WRONG_TARGET } from './jwt/dpop.ts'
export { type JwtKey, parseJwtKey, toThumbprint } from './jwt/jwk.ts'
export { JWT_CHARS_MAX, readJwt, type UnverifiedJwt } from './jwt/read.ts'
export { fitsAlgorithm, verifyJwtSignature } from './jwt/signature.ts'
export {
  type AuditStart,
  auditChain,
  type ChainAudit,
  type ChainFault,
  type CheckedEntry,
  checkEntry,
  createEntry,
  entryHash,
  GENESIS_HASH,
  type NewEntry,
} from './log/chain.ts'
export { compactLine } from './log/compact-line.ts'
export {
  type Entry,
  type EntryBodies,
  type EntryKind,
  type IssuerState,
  type KeyChange,
  type KeyState,
  parseEntry,
  type SettingsState,
} from './log/entry.ts'
export {
  checkEpochStatement,
  EPOCH_STATEMENTS_MAX,
  type EpochStatement,
  type EpochStatementFields,
  findEpochPath,
  parseEpochStatement,
  signEpochStatement,
} from './log/epoch-statement.ts'
export {
  checkFeedKeyStatement,
  FEED_KEY_OVERLAP_MS,
  FEED_KEY_STATEMENTS_MAX,
  type FeedKeyFields,
  type FeedKeyStatement,
  feedKeySha256,
  parseFeedKey,
  parseFeedKeyStatement,
  signFeedKeyStatement,
} from './log/feed-key-statement.ts'
export { type FeedKeyFault, findHeadKey, findReceiptKey } from './log/find-feed-key.ts'
export type { Clocks, ConfirmedHead } from './log/freshness.ts'
export { encodeHeadHeader, HEAD_HEADER_CHARS_MAX, parseHeadHeader } from './log/head-header.ts'
export { type Horizon, REVOCATIONS_KEPT_MS, toHorizon } from './log/horizon.ts'
export { isThumbprint } from './log/members.ts'
export {
  type ClockReading,
  createMonotonicClock,
  type MonotonicClock,
  type MonotonicClockOptions,
} from './log/monotonic-clock.ts'
export {
  isOAuthIssuer,
  OAUTH_ISSUER_DEFAULTS,
  OAUTH_KEYS_MAX,
  type OAuthIssuerState,
  type OAuthKeyState,
  toKeyText,
} from './log/oauth-issuer.ts'
export {
  type CredentialsLine,
  PACK_IDS_MAX,
  PAGE_REVOCATIONS_MAX,
  type PackLine,
  type PageLine,
  type TokensLine,
  type UsersLine,
} from './log/packs.ts'
export { isRevocationLine, type PackedPage, PagePacker, readPageLines } from './log/page.ts'
export type { LogHead, LogPosition, Revocation } from './log/position.ts'
export { beginRestore, type RestoreOptions, type ViewRestore } from './log/restore-view.ts'
export { type EntryContent, toRevocationLine } from './log/revocation-line.ts'
export {
  checkDrillReport,
  type DrillOutcome,
  type DrillReport,
  type DrillReportFields,
  drillOutcomes,
  parseDrillReport,
  signDrillReport,
} from './log/signed-drill.ts'
export {
  checkHeartbeat,
  checkSnapshot,
  type Heartbeat,
  type HeartbeatFields,
  parseHeartbeat,
  signHeartbeat,
  signSnapshot,
} from './log/signed-head.ts'
export {
  checkIntrospection,
  type IntrospectionProof,
  type IntrospectionProofFields,
  parseIntrospectionProof,
  signIntrospection,
} from './log/signed-introspection.ts'
export {
  checkReceipt,
  parseReceipt,
  RECEIPT_VERIFIERS_MAX,
  type ReceiptFields,
  type ReceiptState,
  type ReceiptVerifier,
  type ReceiptVerifierState,
  receiptStates,
  receiptVerifierStates,
  type SignedReceipt,
  signReceipt,
} from './log/signed-receipt.ts'
export {
  type CompromisedKey,
  type CredentialLine,
  type EpochLine,
  type IssuerLine,
  type LogBase,
  parseSnapshotLine,
  type RevocationLine,
  type SiteLine,
  type SnapshotEnd,
  type SnapshotHead,
  type SnapshotLine,
  TOKEN_REVOCATIONS_KEPT_MS,
  type TokenLine,
  type UserLine,
} from './log/snapshot.ts'
export { toStateLines } from './log/state-lines.ts'
export {
  type ApplyResult,
  type ConfirmResult,
  type LoadEvidence,
  type LoadResult,
  SiteView,
  type SiteViewOptions,
  type SnapshotLoad,
  type ViewFault,
} from './log/view.ts'
export { findEd25519Library } from './proof/crypto.ts'
export type { Sha256 } from './proof/crypto-port.ts'
export {
  type DidKey,
  didKey,
  didKeyMethod,
  findDidKeys,
  parseDidJwk,
  parseDidKey,
  parseDidWeb,
} from './proof/did.ts'
export { type DidDocumentKeys, readDidDocument } from './proof/did-document.ts'
export { createSha256, sha256Hex } from './proof/digest.ts'
export {
  findKeyFault,
  type KeyAlgorithm,
  type PrivateJwk,
  type PrivateKey,
  type PublicJwk,
  type PublicKey,
  parseMultikey,
  publicKeyFromBytes,
  publicKeyFromJwk,
  publicKeyToJwk,
} from './proof/keys.ts'
export {
  exportPrivateJwk,
  generatePrivateKey,
  importPrivateKey,
  privateKeyFromCryptoKey,
} from './proof/private-key.ts'
export { beginVerification } from './verify/begin.ts'
export type {
  Allow,
  AllowBearer,
  AllowCredential,
  AllowJwt,
  Denied,
  Subject,
  Verdict,
  ViewStamp,
} from './verify/decision.ts'
export type { Demand, VerifierInput } from './verify/demand.ts'
export { type ExplainedCheck, type Explanation, explain } from './verify/explain.ts'
export { checkGrounds, findRevocation, type Grounds, toChainGrounds, toGrounds } from './verify/grounds.ts'
export { findActiveJwt, findSignedJwt } from './verify/held-jwt.ts'
export { type Holders, listHolders, toHolderThumbprint } from './verify/holders.ts'
export {
  decideJwt,
  findIssuerOfUnknownKey,
  JwtContext,
  jwtChecks,
} from './verify/jwt.ts'
export { JwtCache, type VerifiedJwt } from './verify/jwt-cache.ts'
export { recheckAccess } from './verify/recheck.ts'
export type { RevocationData } from './verify/revocation-data.ts'
export { SignatureCache, type VerifiedCredential } from './verify/signature-cache.ts'
export type { TokenFacts } from './verify/token.ts'
export { findBearerFault } from './verify/token-checks.ts'
export type {
  KeyStatus,
  OAuthIssuer,
  SiteData,
  SiteSettings,
  TrustedIssuer,
  TrustedKey,
} from './verify/trust.ts'
export { decide, verify } from './verify/verify.ts'
