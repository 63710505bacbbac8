/**
 * `@countersign/sdk/testing`: a site, its issuer and its service in one process, with a clock that
 * stops until the test advances it. For tests of applications that a guard protects, and for
 * nothing else.
 */
export { createTestClock, type TestClock } from './test-clock.ts'
export type { FeedKey, TestFeedKeys } from './test-feed-keys.ts'
export type { TestJwtAlgorithm } from './test-jwt-keys.ts'
export type { TestLog } from './test-log.ts'
export type {
  TestAccessToken,
  TestOAuthConditions,
  TestOAuthIssuer,
  TestOAuthIssuerOptions,
  TestTokenGrant,
} from './test-oauth-issuer.ts'
export { testRequest } from './test-request.ts'
export type { TestNetwork, TestService } from './test-service.ts'
export {
  createTestSite,
  type TestCredential,
  type TestGrant,
  type TestSite,
  type TestSiteOptions,
} from './test-site.ts'
