/**
 * `@countersign/sdk`: guards for routes, a fetch for agents and a typed client. Runs on Node, on
 * the edge and in browsers; takes nothing but the core along. Adapters for web frameworks and the
 * testing kit are subpaths of their own.
 */
/** What an agent needs of the core to have a key. */
export {
  didKey,
  generatePrivateKey,
  importPrivateKey,
  type PrivateKey,
  privateKeyFromCryptoKey,
} from '@countersign/core'
export type { ExchangeOptions } from './access-tokens.ts'
export {
  type AgentFetch,
  type AgentFetchOptions,
  agentFetch,
  type Delegated,
  type HandOn,
} from './agent-fetch.ts'
export { PLAIN_HTTP } from './base-url.ts'
export type { CallOptions, CredentialObject } from './call.ts'
export { allItems, type Client, type ClientOptions, createClient } from './client.ts'
export { CountersignError, type CountersignErrorCode } from './countersign-error.ts'
export { ANY_CREDENTIAL, type GuardDemand } from './guard/demand.ts'
export { AccessEnded } from './guard/lapse-watch.ts'
export { FAIL_OPEN, type GuardOptions } from './guard/options.ts'
export { GuardNotReady, type ReadyOptions } from './guard/ready.ts'
export type { GuardBody, GuardRequest } from './guard/request.ts'
export type { SessionEnd, SessionVerdict, SignedInSession } from './guard/session.ts'
export type { GuardState } from './guard/state.ts'
export type {
  FailingOpen,
  GuardAllow,
  GuardDenial,
  GuardProblem,
  GuardVerdict,
  Need,
} from './guard/verdict.ts'
export { createGuard, type Guard } from './guard.ts'
export { type Denial, readDenial } from './read-denial.ts'
export {
  type FinishSignInOptions,
  finishSignIn,
  type PendingSignIn,
  SignInError,
  type SignInErrorCode,
  type StartedSignIn,
  type StartSignInOptions,
  startSignIn,
} from './sign-in.ts'
export {
  createSignInCookies,
  type SignInCookies,
  type SignInCookiesOptions,
  type TakenSignIn,
} from './sign-in-cookies.ts'
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookEvent,
} from './verify-webhook.ts'
export { type GuardClock, systemClock } from './view/clock.ts'
