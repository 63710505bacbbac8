import type { EndpointId } from '@countersign/core/contract'
import type { RouteAnswer } from '../answer.ts'
import type { Config } from '../config.ts'
import type { PageRequest, Route } from '../route.ts'
import { listServiceAudit } from './api/audit.ts'
import { exchangeProof } from './api/auth/exchange-proof.ts'
import { introspect } from './api/auth/introspect.ts'
import { revokeToken } from './api/auth/revoke.ts'
import { forwardAuth } from './api/auth/verify.ts'
import { changePerson, createConsoleLink, createPerson, listPeople } from './api/people.ts'
import { protectedAction } from './api/protected/action.ts'
import { listNodes } from './api/service/nodes.ts'
import {
  changeOperatorKey,
  createOperatorKey,
  deleteOperatorKey,
  listOperatorKeys,
} from './api/service/operator-keys.ts'
import { listAudit } from './api/sites/audit.ts'
import { getCredential, listCredentials } from './api/sites/credentials.ts'
import { cutOffIssuer, cutOffSite, revokeHolder } from './api/sites/cut-offs.ts'
import { listDeliveries, listSiteDeliveries, readDelivery, replayDelivery } from './api/sites/deliveries.ts'
import { listDrills, readDrill, startDrill } from './api/sites/drills.ts'
import { acknowledge } from './api/sites/feed/ack.ts'
import { reportVerdicts } from './api/sites/feed/report.ts'
import { feed } from './api/sites/feed.ts'
import { addIssuer, changeIssuer, changeIssuerKey, getIssuer, listIssuers } from './api/sites/issuers.ts'
import { changeKey, createKey, deleteKey, listKeys } from './api/sites/keys.ts'
import { listLogEntries, readHead } from './api/sites/log.ts'
import { preview } from './api/sites/preview.ts'
import { propagationReceipt, propagationStats } from './api/sites/propagation.ts'
import { listReceipts, readReceipt } from './api/sites/receipts.ts'
import { revokeTargets } from './api/sites/revocations.ts'
import { receiveEvent, receiveLogout, receiveTokenRevocation } from './api/sites/signals.ts'
import { changeSite, readSite } from './api/sites/site.ts'
import { snapshot } from './api/sites/snapshot.ts'
import { readSummary } from './api/sites/summary.ts'
import { revokeTokenById } from './api/sites/tokens/revoke.ts'
import { listTokens } from './api/sites/tokens.ts'
import { eraseUser } from './api/sites/users/erase.ts'
import { resolveUser } from './api/sites/users/resolve.ts'
import { getUser, listUsers } from './api/sites/users.ts'
import { dismissVerifier, listVerifiers, readVerifier } from './api/sites/verifiers.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listWebhooks,
  recoverWebhook,
  rotateWebhookSecret,
  testWebhook,
} from './api/sites/webhooks.ts'
import { createSite, listSites } from './api/sites.ts'
import { issueCredential } from './api/wallet/credentials.ts'
import { createOffer } from './api/wallet/offers.ts'
import { reinstateUser } from './api/wallet/reinstate-user.ts'
import { revocationStatus } from './api/wallet/revocation-status.ts'
import { revokeCredentialRoute } from './api/wallet/revoke.ts'
import { revokeUserRoute } from './api/wallet/revoke-user.ts'
import { signOutUser } from './api/wallet/sign-out-user.ts'
import { asset } from './assets.ts'
import { present } from './auth/present.ts'
import { signInCallback, signInCallbackByForm } from './auth/sdk-callback.ts'
import { startSignIn, startSignInByLink } from './auth/sdk-request.ts'
import { signInResult } from './auth/sdk-result.ts'
import { signInPage } from './auth/sign-in.ts'
import { startDemoVerifier } from './console/demo-verifiers.ts'
import { listDoors } from './console/doors.ts'
import { listPersonNames } from './console/names.ts'
import { finishProviderSignIn, receiveProviderLogout, startProviderSignIn } from './console/oidc.ts'
import {
  addPasskey,
  listPasskeys,
  openSessionWithPasskey,
  removePasskey,
  renamePasskey,
  startPasskey,
  startPasskeySignIn,
  startStepUp,
  stepUp,
} from './console/passkeys.ts'
import { endListedSession, endSession, listSessions, openSession, readSession } from './console/sessions.ts'
import { consoleAsset, consolePage } from './console.ts'
import { didDocument, discovery, jwks } from './discovery.ts'
import { docs, openapi, openapiYaml } from './docs.ts'
import { frontPage } from './front.ts'
import { alive, ready } from './health.ts'
import { iconPng, iconSvg } from './icons.ts'
import { llms, llmsFull, robots } from './llms.ts'
import { siteLogo } from './logos.ts'
import { accessContext } from './ns.ts'
import { problemPage, problemsPage } from './problems.ts'
import { claimOffer } from './wallet/claim.ts'
import { readOffer } from './wallet/offer.ts'
import { walletPage } from './wallet.ts'

/**
 * The routes by the id of their endpoint. An endpoint without a route is not mounted.
 */
export type Routes = { readonly [Id in EndpointId]?: Route<Id> }

/** Every route of the service. A new one is added here and nowhere else. */
export const routes: Routes = {
  protected_action: protectedAction,
  exchange_proof: exchangeProof,
  introspect,
  revoke_token: revokeToken,
  revoke_token_by_id: revokeTokenById,
  revoke_targets: revokeTargets,
  preview,
  forward_auth: forwardAuth,
  revoke_user: revokeUserRoute,
  revoke_credential: revokeCredentialRoute,
  reinstate_user: reinstateUser,
  sign_out_user: signOutUser,
  revoke_holder: revokeHolder,
  cut_off_issuer: cutOffIssuer,
  cut_off_site: cutOffSite,
  resolve_user: resolveUser,
  list_users: listUsers,
  get_user: getUser,
  erase_user: eraseUser,
  revocation_status: revocationStatus,
  issue_credential: issueCredential,
  create_offer: createOffer,
  read_offer: readOffer,
  claim_offer: claimOffer,
  site_logo: siteLogo,
  wallet_page: walletPage,
  start_sign_in: startSignIn,
  start_sign_in_by_link: startSignInByLink,
  sign_in_page: signInPage,
  present,
  sign_in_callback: signInCallback,
  sign_in_callback_by_form: signInCallbackByForm,
  sign_in_result: signInResult,
  snapshot,
  feed,
  acknowledge,
  propagation_receipt: propagationReceipt,
  list_log_entries: listLogEntries,
  read_head: readHead,
  report_verdicts: reportVerdicts,
  read_summary: readSummary,
  list_verifiers: listVerifiers,
  read_verifier: readVerifier,
  dismiss_verifier: dismissVerifier,
  receive_logout: receiveLogout,
  receive_token_revocation: receiveTokenRevocation,
  receive_event: receiveEvent,
  create_site: createSite,
  list_sites: listSites,
  read_site: readSite,
  change_site: changeSite,
  add_issuer: addIssuer,
  list_issuers: listIssuers,
  get_issuer: getIssuer,
  change_issuer: changeIssuer,
  change_issuer_key: changeIssuerKey,
  create_key: createKey,
  list_keys: listKeys,
  change_key: changeKey,
  delete_key: deleteKey,
  create_operator_key: createOperatorKey,
  list_operator_keys: listOperatorKeys,
  change_operator_key: changeOperatorKey,
  delete_operator_key: deleteOperatorKey,
  create_webhook: createWebhook,
  list_webhooks: listWebhooks,
  delete_webhook: deleteWebhook,
  change_webhook: changeWebhook,
  recover_webhook: recoverWebhook,
  test_webhook: testWebhook,
  rotate_webhook_secret: rotateWebhookSecret,
  list_deliveries: listDeliveries,
  list_site_deliveries: listSiteDeliveries,
  read_delivery: readDelivery,
  replay_delivery: replayDelivery,
  list_credentials: listCredentials,
  get_credential: getCredential,
  list_tokens: listTokens,
  list_audit: listAudit,
  list_service_audit: listServiceAudit,
  create_person: createPerson,
  list_people: listPeople,
  change_person: changePerson,
  create_console_link: createConsoleLink,
  list_receipts: listReceipts,
  read_receipt: readReceipt,
  propagation_stats: propagationStats,
  start_drill: startDrill,
  list_drills: listDrills,
  read_drill: readDrill,
  list_nodes: listNodes,
  list_doors: listDoors,
  open_session: openSession,
  read_session: readSession,
  end_session: endSession,
  list_sessions: listSessions,
  end_listed_session: endListedSession,
  list_person_names: listPersonNames,
  start_demo_verifier: startDemoVerifier,
  start_passkey_sign_in: startPasskeySignIn,
  open_session_with_passkey: openSessionWithPasskey,
  start_step_up: startStepUp,
  step_up: stepUp,
  start_passkey: startPasskey,
  add_passkey: addPasskey,
  list_passkeys: listPasskeys,
  rename_passkey: renamePasskey,
  remove_passkey: removePasskey,
  start_provider_sign_in: startProviderSignIn,
  finish_provider_sign_in: finishProviderSignIn,
  receive_provider_logout: receiveProviderLogout,
  discovery,
  did_document: didDocument,
  jwks,
  context: accessContext,
  openapi,
  docs,
  problem_page: problemPage,
  alive,
  ready,
}

export type Page = (request: PageRequest, config: Config) => RouteAnswer

/**
 * Pages outside of the contract, by path. They need no caller, and count towards the allowance for
 * requests without a key.
 */
export const pages: Readonly<Record<string, Page>> = {
  '/': frontPage,
  '/problems': problemsPage,
  '/llms.txt': llms,
  '/llms-full.txt': llmsFull,
  '/robots.txt': robots,
  '/openapi.yaml': openapiYaml,
  '/favicon.svg': iconSvg,
  '/favicon.ico': iconPng(32),
  '/apple-touch-icon.png': iconPng(180),
  '/assets/*': asset,
  '/console': consolePage,
  '/console/*': consolePage,
  '/console/assets/*': consoleAsset,
}

const FILES: ReadonlySet<string> = new Set([
  '/favicon.svg',
  '/favicon.ico',
  '/apple-touch-icon.png',
  '/assets/*',
  '/console/assets/*',
])

/**
 * Whether browsers load it with a page: a script, a style or an icon. These do not count, since one
 * page has several.
 */
export function isFileOfPages(path: string): boolean {
  return FILES.has(path)
}
