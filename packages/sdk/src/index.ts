/**
 * `@countersign/sdk`: guards for routes, a fetch for agents and a typed client. Runs on Node, on the edge and in browsers; takes nothing but the
 * core along. Adapters for web frameworks and the testing kit are subpaths of their own.
 */
export type { GuardBody, GuardRequest } from './guard/request.ts'
export type { FailingOpen, GuardAllow, GuardDenial, GuardProblem, GuardVerdict, Need } from './guard/verdict.ts'
export {
  createGuard,
  FAIL_OPEN,
  type Guard,
  type GuardDemand,
  type GuardOptions,
  type GuardState,
  PLAIN_HTTP,
  type SessionEnd,
  type SessionVerdict,
  type SignedInSession,
} from './guard.ts'
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookEvent,
} from './verify-webhook.ts'
export { type GuardClock, systemClock } from './view/clock.ts'
