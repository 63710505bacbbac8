/**
 * `@countersign/sdk`: guards for routes, a fetch for agents and a typed client. Runs on Node, on the edge and in browsers; takes nothing but the
 * core along. Adapters for web frameworks are subpaths of their own.
 */
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookEvent,
} from './verify-webhook.ts'
