import type { Ppid, Scope, SiteId } from '@countersign/core'
import { number, optionalJson, optionalNumber, optionalText, text, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import { recordCredentials, type SeenCredential } from './credentials.ts'
import { isRevoked, lockChain } from './shared/chain-locks.ts'
import { type GrantedAccess, toAccess, toAccessColumns } from './shared/granted-access.ts'
import { insertRow, intact, intactPage, updateRow } from './shared/mac-rows.ts'
import { requireMasterKey } from './shared/master-key.ts'

export interface NewSignIn {
  readonly stateSha256: string
  readonly siteId: SiteId
  readonly returnUrl: string
  /** Undefined: all that the credential grants. */
  readonly requestedScope: readonly Scope[] | undefined
  /** The state of the client; sealed by the caller. */
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

/**
 * A credential that was accepted for a sign-in, with the scope that the site receives.
 * `expiresAtMs` is that of the payload, then of the code.
 */
export interface NewSignInPresentation extends GrantedAccess {
  readonly payloadSha256: string
  readonly stateSha256: string
  readonly verifiedAtMs: number
  readonly credentialEndsAtMs: number
}

export interface SignInPresentation extends NewSignInPresentation {
  /** Whether the user was revoked since. */
  readonly isCancelled: boolean
}

export interface SignInEnd {
  readonly stateSha256: string
  readonly browserSha256: string
  readonly payloadSha256: string | undefined
  readonly as: 'consumed' | 'cancelled'
}

/**
 * Operations on a sign-in that has ended, or of another browser, find none, and neither does one on
 * a row that the service did not write. Each is one statement whose condition is everything that
 * must still be true, so the second of two requests changes nothing.
 */
const GOES_ON = `status IN ('open', 'presented')`

/**
 * False, and nothing is written, when the site has `openMax` sign-ins that have not expired. The
 * limit is not exact among concurrent requests.
 */
export function* createSignIn(
  signIn: NewSignIn,
  limit?: { readonly nowMs: number; readonly openMax: number },
): Transaction<boolean> {
  if (limit !== undefined && (yield* hasOpenSignIns(signIn.siteId, limit))) return false
  yield* insertRow('sign_ins', {
    state_sha256: signIn.stateSha256,
    site_id: signIn.siteId,
    return_url: signIn.returnUrl,
    requested_scope: signIn.requestedScope === undefined ? null : JSON.stringify(signIn.requestedScope),
    client_state_sealed: signIn.clientStateSealed ?? null,
    code_challenge: signIn.codeChallenge,
    status: 'open',
    tries: 0,
    expires_at: signIn.expiresAtMs,
  })
  if (signIn.clientStateSealed !== undefined) yield* requireMasterKey(signIn.clientStateSealed)
  return true
}

function* hasOpenSignIns(
  siteId: SiteId,
  { nowMs, openMax }: { nowMs: number; openMax: number },
): Transaction<boolean> {
  const last = yield* row(
    `SELECT 1 AS there FROM sign_ins WHERE site_id = $1 AND expires_at > $2 LIMIT 1 OFFSET $3`,
    siteId,
    nowMs,
    openMax - 1,
  )
  return last !== undefined
}

/**
 * Binds the sign-in to the browser `newSha256` unless it is bound. Undefined when it is bound to
 * another browser than `heldSha256`.
 */
export function* openSignIn(
  stateSha256: string,
  { heldSha256, newSha256 }: { readonly heldSha256: string | undefined; readonly newSha256: string },
  nowMs: number,
): Transaction<SignIn | undefined> {
  const found = yield* row(
    `UPDATE sign_ins SET browser_sha256 = COALESCE(browser_sha256, $3)
     WHERE state_sha256 = $1 AND (browser_sha256 IS NULL OR browser_sha256 = $2) AND ${GOES_ON} AND expires_at > $4 RETURNING *`,
    stateSha256,
    heldSha256 ?? null,
    newSha256,
    nowMs,
  )
  if (found === undefined) return undefined
  const isBoundNow = found.browser_sha256 === newSha256
  const before = yield* intact('sign_ins', isBoundNow ? { ...found, browser_sha256: null } : found)
  if (before === undefined) return undefined
  if (isBoundNow) yield* updateRow('sign_ins', before, { browser_sha256: newSha256 })
  return toSignIn(found)
}

/**
 * A sign-in in any state. Rows are kept for a while after their end, so that users can be shown the
 * way back to the site.
 */
export const signIn = read(function* (stateSha256: string): Transaction<SignIn | undefined> {
  const found = yield* intact(
    'sign_ins',
    yield* row('SELECT * FROM sign_ins WHERE state_sha256 = $1', stateSha256),
  )
  return found && toSignIn(found)
})

/** Counts an attempt to present a credential. Undefined after `triesMax` of them. */
export function* trySignIn(
  stateSha256: string,
  browserSha256: string,
  triesMax: number,
  nowMs: number,
): Transaction<SignIn | undefined> {
  const found = yield* row(
    `UPDATE sign_ins SET tries = tries + 1
     WHERE state_sha256 = $1 AND browser_sha256 = $2 AND tries < $3 AND ${GOES_ON} AND expires_at > $4 RETURNING *`,
    stateSha256,
    browserSha256,
    triesMax,
    nowMs,
  )
  const intactOne = yield* intact('sign_ins', found)
  return intactOne && toSignIn(intactOne)
}

/**
 * Adds a presentation to a sign-in unless its credential, a parent of it or its user is revoked, at
 * whatever moment that happens: a revocation takes the same locks. Records the credential in any
 * case. A sign-in may have several presentations; the first that comes back is used.
 */
export function* presentSignIn(
  presentation: NewSignInPresentation,
  seen: SeenCredential,
  nowMs: number,
): Transaction<'presented' | 'revoked' | 'over'> {
  yield* lockChain(presentation)
  yield* recordCredentials([seen], nowMs)
  if (yield* isRevoked(presentation)) return 'revoked'
  const taken = yield* row(
    `UPDATE sign_ins SET status = 'presented' WHERE state_sha256 = $1 AND ${GOES_ON} AND expires_at > $2 RETURNING *`,
    presentation.stateSha256,
    nowMs,
  )
  if ((yield* intact('sign_ins', taken)) === undefined) return 'over'
  yield* insertRow('sign_in_presentations', {
    ...toAccessColumns(presentation),
    payload_sha256: presentation.payloadSha256,
    state_sha256: presentation.stateSha256,
    verified_at: presentation.verifiedAtMs,
    credential_ends_at: presentation.credentialEndsAtMs,
  })
  return 'presented'
}

/**
 * Ends a sign-in, for exactly one of all concurrent requests. The presentation is that of the
 * payload, if it belongs to this sign-in and has not expired.
 */
export function* endSignIn(
  { stateSha256, browserSha256, payloadSha256, as }: SignInEnd,
  nowMs: number,
): Transaction<
  { readonly signIn: SignIn; readonly presentation: SignInPresentation | undefined } | undefined
> {
  const ended = yield* row(
    `UPDATE sign_ins SET status = $3 WHERE state_sha256 = $1 AND browser_sha256 = $2 AND ${GOES_ON} AND expires_at > $4 RETURNING *`,
    stateSha256,
    browserSha256,
    as,
    nowMs,
  )
  const signIn = yield* intact('sign_ins', ended)
  if (signIn === undefined) return undefined
  const shown =
    payloadSha256 === undefined
      ? undefined
      : yield* row(
          'SELECT * FROM sign_in_presentations WHERE payload_sha256 = $1 AND state_sha256 = $2 AND expires_at > $3',
          payloadSha256,
          stateSha256,
          nowMs,
        )
  const presented = yield* intact('sign_in_presentations', shown)
  return { signIn: toSignIn(signIn), presentation: presented && toPresentation(presented) }
}

/**
 * The presentations of a site that may still become a code or be redeemed, named by their payload:
 * of a user, or all.
 */
export const livePresentations = read(function* (
  siteId: SiteId,
  ppid: Ppid | undefined,
  nowMs: number,
  page: Page,
): Transaction<readonly SignInPresentation[]> {
  const loadPage = (after: string, limit: number) =>
    rows(
      `SELECT p.* FROM sign_in_presentations p WHERE p.site_id = $1 AND p.killed_at IS NULL AND p.used_at IS NULL AND p.expires_at > $2
         AND ${ppid === undefined ? 'CAST($3 AS TEXT) IS NULL' : 'p.ppid = $3'} AND p.payload_sha256 > $4
         AND (p.code_sha256 IS NOT NULL OR EXISTS (SELECT 1 FROM sign_ins s WHERE s.state_sha256 = p.state_sha256
           AND s.${GOES_ON} AND s.expires_at > $2)) ORDER BY p.payload_sha256 LIMIT $5`,
      siteId,
      nowMs,
      ppid ?? null,
      after,
      limit,
    )
  const found = yield* intactPage('sign_in_presentations', page, loadPage, (each) =>
    text(each, 'payload_sha256'),
  )
  return found.map(toPresentation)
})

/** Gives a presentation its code, once, unless it is revoked by now. */
export function* createSignInCode(
  presentation: SignInPresentation,
  {
    codeSha256,
    codeChallenge,
    expiresAtMs,
  }: { readonly codeSha256: string; readonly codeChallenge: string; readonly expiresAtMs: number },
): Transaction<'created' | 'revoked'> {
  yield* lockChain(presentation)
  if (yield* isRevoked(presentation)) return 'revoked'
  const made = yield* row(
    `UPDATE sign_in_presentations SET code_sha256 = $2, code_challenge = $3, expires_at = $4
     WHERE payload_sha256 = $1 AND code_sha256 IS NULL AND killed_at IS NULL RETURNING *`,
    presentation.payloadSha256,
    codeSha256,
    codeChallenge,
    expiresAtMs,
  )
  const unmade = { code_sha256: null, code_challenge: null, expires_at: presentation.expiresAtMs }
  const before = yield* intact('sign_in_presentations', made && { ...made, ...unmade })
  if (before === undefined) return 'revoked'
  yield* updateRow('sign_in_presentations', before, {
    code_sha256: codeSha256,
    code_challenge: codeChallenge,
    expires_at: expiresAtMs,
  })
  return 'created'
}

/**
 * Consumes a code, for exactly one of all requests with the right challenge, before it expires, and
 * never for a user who is revoked by now.
 */
export function* redeemSignIn(
  codeSha256: string,
  codeChallenge: string,
  nowMs: number,
): Transaction<SignInPresentation | undefined> {
  // Only finds whose lock to take; the statement below decides.
  const found = yield* intact(
    'sign_in_presentations',
    yield* row('SELECT * FROM sign_in_presentations WHERE code_sha256 = $1', codeSha256),
  )
  if (found === undefined) return undefined
  const presentation = toPresentation(found)
  yield* lockChain(presentation)
  const used = yield* row(
    `UPDATE sign_in_presentations SET used_at = $3
     WHERE code_sha256 = $1 AND code_challenge = $2 AND used_at IS NULL AND killed_at IS NULL AND expires_at > $3 RETURNING payload_sha256`,
    codeSha256,
    codeChallenge,
    nowMs,
  )
  return used === undefined || (yield* isRevoked(presentation)) ? undefined : presentation
}

/**
 * Makes a code usable again that was consumed at this time, because the node that has consumed it
 * could not answer. To be called only for a code that `redeemSignIn` has just consumed.
 */
export function* returnSignInCode(codeSha256: string, usedAtMs: number): Transaction<void> {
  yield* exec(
    'UPDATE sign_in_presentations SET used_at = NULL WHERE code_sha256 = $1 AND used_at = $2',
    codeSha256,
    usedAtMs,
  )
}

function toSignIn(row: Row): SignIn {
  return {
    stateSha256: text(row, 'state_sha256'),
    siteId: toSiteId(row),
    returnUrl: text(row, 'return_url'),
    requestedScope: optionalJson(row, 'requested_scope'),
    clientStateSealed: optionalText(row, 'client_state_sealed'),
    codeChallenge: text(row, 'code_challenge'),
    browserSha256: optionalText(row, 'browser_sha256'),
    tries: number(row, 'tries'),
    expiresAtMs: number(row, 'expires_at'),
  }
}

function toPresentation(row: Row): SignInPresentation {
  return {
    ...toAccess(row),
    payloadSha256: text(row, 'payload_sha256'),
    stateSha256: text(row, 'state_sha256'),
    verifiedAtMs: number(row, 'verified_at'),
    credentialEndsAtMs: number(row, 'credential_ends_at'),
    isCancelled: optionalNumber(row, 'killed_at') !== undefined,
  }
}
