import type { PermissionId, Ppid, SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import { type Program, type Row, row, write } from '../program.ts'
import type { NewSignIn, NewSignInPresentation, SeenCredential, SignIn, SignInEnd, SignInPresentation, Store } from '../store.ts'
import { learnCredentials } from './credentials.ts'
import { requireMasterKey } from './master-key.ts'
import { isRevoked, lockChain } from './tokens.ts'

/** Each step is one statement whose condition is everything that must still hold: whoever comes second finds nothing to change. */
const GOES_ON = `status IN ('open', 'presented')`

export function* createSignIn(signIn: NewSignIn): Program<void> {
  yield* write(
    `INSERT INTO sign_ins (state_sha256, site_id, return_url, requested_scope, client_state_sealed, code_challenge, status, tries, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, 'open', 0, $7)`,
    signIn.stateSha256,
    signIn.siteId,
    signIn.returnUrl,
    signIn.requestedScope === undefined ? null : JSON.stringify(signIn.requestedScope),
    signIn.clientStateSealed ?? null,
    signIn.codeChallenge,
    signIn.expiresAtMs,
  )
  if (signIn.clientStateSealed !== undefined) yield* requireMasterKey(signIn.clientStateSealed)
}

export function* openSignIn(
  stateSha256: string,
  { heldSha256, newSha256 }: Parameters<Store['openSignIn']>[1],
  nowMs: number,
): Program<SignIn | undefined> {
  const found = yield* row(
    `UPDATE sign_ins SET browser_sha256 = COALESCE(browser_sha256, $3)
     WHERE state_sha256 = $1 AND (browser_sha256 IS NULL OR browser_sha256 = $2) AND ${GOES_ON} AND expires_at > $4 RETURNING *`,
    stateSha256,
    heldSha256 ?? null,
    newSha256,
    nowMs,
  )
  return found && signInOf(found)
}

export function* signIn(stateSha256: string): Program<SignIn | undefined> {
  const found = yield* row('SELECT * FROM sign_ins WHERE state_sha256 = $1', stateSha256)
  return found && signInOf(found)
}

export function* trySignIn(stateSha256: string, browserSha256: string, triesMax: number, nowMs: number): Program<SignIn | undefined> {
  const found = yield* row(
    `UPDATE sign_ins SET tries = tries + 1
     WHERE state_sha256 = $1 AND browser_sha256 = $2 AND tries < $3 AND ${GOES_ON} AND expires_at > $4 RETURNING *`,
    stateSha256,
    browserSha256,
    triesMax,
    nowMs,
  )
  return found && signInOf(found)
}

/**
 * Whoever revokes the user or a credential of the chain holds the same lock: either the presentation is there to be killed, or the revocation is
 * there to be seen.
 */
export function* presentSignIn(
  presentation: NewSignInPresentation,
  seen: SeenCredential,
  nowMs: number,
): Program<'presented' | 'revoked' | 'over'> {
  yield* lockChain(presentation)
  yield* learnCredentials([seen], nowMs)
  if (yield* isRevoked(presentation)) return 'revoked'
  const taken = yield* row(
    `UPDATE sign_ins SET status = 'presented' WHERE state_sha256 = $1 AND ${GOES_ON} AND expires_at > $2 RETURNING status`,
    presentation.stateSha256,
    nowMs,
  )
  if (taken === undefined) return 'over'
  yield* write(
    `INSERT INTO sign_in_presentations
       (payload_sha256, state_sha256, site_id, ppid, scope, permission_id, chain, issuer, issuer_key, verified_at, credential_ends_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    presentation.payloadSha256,
    presentation.stateSha256,
    presentation.siteId,
    presentation.ppid,
    JSON.stringify(presentation.scope),
    presentation.permissionId,
    JSON.stringify(presentation.chain),
    presentation.issuer,
    presentation.issuerKey,
    presentation.verifiedAtMs,
    presentation.credentialEndsAtMs,
    presentation.expiresAtMs,
  )
  return 'presented'
}

export function* endSignIn(
  { stateSha256, browserSha256, payloadSha256, as }: SignInEnd,
  nowMs: number,
): Program<{ readonly signIn: SignIn; readonly presentation: SignInPresentation | undefined } | undefined> {
  const ended = yield* row(
    `UPDATE sign_ins SET status = $3 WHERE state_sha256 = $1 AND browser_sha256 = $2 AND ${GOES_ON} AND expires_at > $4 RETURNING *`,
    stateSha256,
    browserSha256,
    as,
    nowMs,
  )
  if (ended === undefined) return undefined
  const shown =
    payloadSha256 === undefined
      ? undefined
      : yield* row(
          'SELECT * FROM sign_in_presentations WHERE payload_sha256 = $1 AND state_sha256 = $2 AND expires_at > $3',
          payloadSha256,
          stateSha256,
          nowMs,
        )
  return { signIn: signInOf(ended), presentation: shown && presentationOf(shown) }
}

export function* createSignInCode(
  presentation: SignInPresentation,
  { codeSha256, codeChallenge, expiresAtMs }: Parameters<Store['createSignInCode']>[1],
): Program<'created' | 'revoked'> {
  yield* lockChain(presentation)
  if (yield* isRevoked(presentation)) return 'revoked'
  const made = yield* row(
    `UPDATE sign_in_presentations SET code_sha256 = $2, code_challenge = $3, expires_at = $4
     WHERE payload_sha256 = $1 AND code_sha256 IS NULL AND killed_at IS NULL RETURNING payload_sha256`,
    presentation.payloadSha256,
    codeSha256,
    codeChallenge,
    expiresAtMs,
  )
  return made === undefined ? 'revoked' : 'created'
}

export function* redeemSignIn(codeSha256: string, codeChallenge: string, nowMs: number): Program<SignInPresentation | undefined> {
  // Only to know whose lock to take; what counts is the statement after it.
  const found = yield* row('SELECT * FROM sign_in_presentations WHERE code_sha256 = $1', codeSha256)
  if (found === undefined) return undefined
  const presentation = presentationOf(found)
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

/** What a revocation of the user takes along: sign-ins on their way, and credentials that were offered and not yet claimed. */
export function* killPending(siteId: SiteId, ppid: Ppid, atMs: number): Program<void> {
  for (const table of ['sign_in_presentations', 'offers']) {
    yield* write(`UPDATE ${table} SET killed_at = $3 WHERE site_id = $1 AND ppid = $2 AND killed_at IS NULL`, siteId, ppid, atMs)
  }
}

function signInOf(row: Row): SignIn {
  const scope = optionalText(row, 'requested_scope')
  return {
    stateSha256: text(row, 'state_sha256'),
    siteId: text(row, 'site_id') as SiteId,
    returnUrl: text(row, 'return_url'),
    requestedScope: scope === undefined ? undefined : json(row, 'requested_scope'),
    clientStateSealed: optionalText(row, 'client_state_sealed'),
    codeChallenge: text(row, 'code_challenge'),
    browserSha256: optionalText(row, 'browser_sha256'),
    tries: number(row, 'tries'),
    expiresAtMs: number(row, 'expires_at'),
  }
}

function presentationOf(row: Row): SignInPresentation {
  return {
    payloadSha256: text(row, 'payload_sha256'),
    stateSha256: text(row, 'state_sha256'),
    siteId: text(row, 'site_id') as SiteId,
    ppid: text(row, 'ppid') as Ppid,
    scope: json(row, 'scope'),
    permissionId: text(row, 'permission_id') as PermissionId,
    chain: json(row, 'chain'),
    issuer: text(row, 'issuer'),
    issuerKey: text(row, 'issuer_key'),
    verifiedAtMs: number(row, 'verified_at'),
    credentialEndsAtMs: number(row, 'credential_ends_at'),
    expiresAtMs: number(row, 'expires_at'),
    isKilled: optionalNumber(row, 'killed_at') !== undefined,
  }
}
