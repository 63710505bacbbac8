/**
 * The HTTP contract: requests, responses, problem codes and limits. Response schemas are strict, so
 * that the service cannot return undocumented members; clients should ignore members they do not
 * know.
 */
export * from './access-credential.ts'
export * from './api-keys.ts'
export * from './audit.ts'
export {
  type ConsoleDoors,
  type CurrentSession,
  consoleEndpoints,
  type ListedSession,
  type OpenSessionRequest,
  type PersonName,
} from './console.ts'
export { consoleProviderEndpoints } from './console-provider.ts'
export * from './credential-detail.ts'
export * from './cut-offs.ts'
export * from './discovery.ts'
export {
  type Answer,
  type Auth,
  consoleProblems,
  type Endpoint,
  generalProblems,
  type RequestParts,
  tags,
} from './endpoint.ts'
export * from './endpoints.ts'
export * from './events.ts'
export { examples } from './examples.ts'
export * from './feed.ts'
export { parseFeedCursor } from './fields.ts'
export * from './headers.ts'
export * from './issuers.ts'
export * from './issuing.ts'
export * from './known-users.ts'
export * from './limits.ts'
export * from './nodes.ts'
export * from './oauth-issuers.ts'
export * from './operator-keys.ts'
export * from './parameters.ts'
export {
  type AddPasskeyRequest,
  type NewPasskeyChallenge,
  type Passkey,
  type PasskeyAssertion,
  type PasskeyChallenge,
  passkeyEndpoints,
  type RenamePasskeyRequest,
} from './passkeys.ts'
export {
  type ChangePersonRequest,
  type ConsoleLink,
  type CreatePersonRequest,
  type Person,
  type PersonPage,
  peopleEndpoints,
} from './people.ts'
export * from './preview.ts'
export * from './problem-body.ts'
export * from './problems.ts'
export * from './protected-action.ts'
export * from './receipts.ts'
export * from './revocation.ts'
export * from './revocations.ts'
export * from './sign-in.ts'
export * from './signals.ts'
export * from './site-lists.ts'
export * from './site-log.ts'
export * from './sites.ts'
export * from './step-up.ts'
export * from './summary.ts'
export { isLine, isVisible } from './text.ts'
export * from './token-revocation.ts'
export * from './tokens.ts'
export * from './urls.ts'
export {
  type ErasedUser,
  type EraseUserRequest,
  erasedUserSchema,
  eraseUserRequestSchema,
  type ResolvedUser,
  type ResolveUserRequest,
  resolvedUserSchema,
  resolveUserRequestSchema,
  userEndpoints,
} from './users.ts'
export {
  problemDetailsSchema,
  type RequestPart,
  toValidationProblem,
  type ValidationProblem,
} from './validation.ts'
export * from './vocabulary.ts'
export * from './webhooks.ts'
