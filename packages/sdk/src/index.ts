/**
 * `@countersign/sdk`: guards for routes, a fetch for agents and a typed client. Runs on Node, on
 * the edge and in browsers; depends on the core only. Adapters for web frameworks and the testing
 * kit have their own subpaths.
 */
/** The parts of the core with which an agent creates or imports its key. */
export {
  didKey,
  generatePrivateKey,
  importPrivateKey,
  type PrivateKey,
  privateKeyFromCryptoKey,
} from '@countersign/core'
export type { ExchangeOptions } from './agent/access-tokens.ts'
export {
  type AgentFetch,
  type AgentFetchOptions,
  agentFetch,
  type Delegated,
  type DelegationRequest,
} from './agent/agent-fetch.ts'
export type { CallOptions, CredentialObject } from './client/call.ts'
export {
  type AuditExport,
  allItems,
  type Client,
  type ClientOptions,
  createClient,
  exportAudit,
} from './client/client.ts'
export { CountersignError, type CountersignErrorCode } from './client/countersign-error.ts'
export { type Denial, readDenial } from './client/read-denial.ts'
export { type GuardClock, systemClock } from './feed/clock.ts'
export { AccessEnded } from './guard/access-monitor.ts'
export { ANY_CREDENTIAL, type GuardDemand } from './guard/demand.ts'
export { createGuard, type Guard } from './guard/guard.ts'
export { GuardNotReady, type ReadyOptions } from './guard/not-ready.ts'
export { FAIL_OPEN, type GuardOptions } from './guard/options.ts'
export type { GuardBody, GuardRequest } from './guard/request.ts'
export type { ProtectedResourceOptions, ResourceMetadata } from './guard/resource-metadata.ts'
export type { SessionEnd, SessionVerdict, SignedInSession } from './guard/session.ts'
export type { GuardState } from './guard/state.ts'
export type {
  AccessToken,
  FailingOpen,
  GuardAllow,
  GuardAllowJwt,
  GuardDenial,
  GuardProblem,
  GuardVerdict,
} from './guard/verdict.ts'
export { PLAIN_HTTP } from './shared/base-url.ts'
export type { Need } from './shared/needs.ts'
export {
  type FinishSignInOptions,
  finishSignIn,
  type PendingSignIn,
  SignInError,
  type SignInErrorCode,
  type StartedSignIn,
  type StartSignInOptions,
  startSignIn,
} from './site/sign-in.ts'
export {
  createSignInCookies,
  type SignInCookies,
  type SignInCookiesOptions,
  type TakenSignIn,
} from './site/sign-in-cookies.ts'
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookEvent,
  type WebhookTestEvent,
} from './site/verify-webhook.ts'
