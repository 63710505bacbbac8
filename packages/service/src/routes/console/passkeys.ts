import { formatTime } from '@countersign/core'
import type {
  NewPasskeyChallenge,
  Passkey as PasskeyBody,
  PasskeyChallenge,
} from '@countersign/core/contract'
import {
  addPasskey as add,
  openSessionWithPasskey as open,
  stepUp as raise,
  removePasskey as remove,
  renamePasskey as rename,
  startPasskey as start,
  startStepUp as startRaise,
  startSignIn,
} from '../../actions/passkeys.ts'
import type { RouteAnswer } from '../../answer.ts'
import { findSessionSecret, toSessionCookie } from '../../http/console-place.ts'
import { requirePasskeyPlace } from '../../http/passkey-place.ts'
import { ALGORITHMS } from '../../keys/webauthn.ts'
import type { Route } from '../../route.ts'
import type { Passkey } from '../../store/operations/passkeys.ts'
import { answerPage } from '../shared/paging.ts'
import { personContext, requirePersonId, requireSignedIn, toCurrent } from './signed-in.ts'

export const startPasskeySignIn: Route<'start_passkey_sign_in'> = async (request, deps) => {
  const place = requirePasskeyPlace(request, request.place)
  const { challenge, expiresAtMs } = startSignIn(deps, place, deps.clock.nowMs())
  return answerChallenge({
    challenge,
    rp_id: place.rpId,
    credential_ids: [],
    expires_at: formatTime(expiresAtMs),
  })
}

export const openSessionWithPasskey: Route<'open_session_with_passkey'> = async (request, deps) => {
  const { body, place, requestId } = request
  const nowMs = deps.clock.nowMs()
  const at = requirePasskeyPlace(request, place)
  const before = findSessionSecret(request, place)
  const { secret, ...signedIn } = await open(deps, body, at, before, { atMs: nowMs, requestId })
  return {
    status: 201,
    body: toCurrent(signedIn, deps),
    headers: { 'set-cookie': toSessionCookie(secret, place) },
  }
}

export const startStepUp: Route<'start_step_up'> = async (request, deps) => {
  const place = requirePasskeyPlace(request, request.place)
  const nowMs = deps.clock.nowMs()
  const { challenge, expiresAtMs, credentialIds } = await startRaise(
    deps,
    requireSignedIn(request),
    place,
    nowMs,
  )
  return answerChallenge({
    challenge,
    rp_id: place.rpId,
    credential_ids: [...credentialIds],
    expires_at: formatTime(expiresAtMs),
  })
}

export const stepUp: Route<'step_up'> = async (request, deps) => {
  const { body, place, requestId } = request
  const nowMs = deps.clock.nowMs()
  const at = requirePasskeyPlace(request, place)
  const { secret, ...signedIn } = await raise(deps, requireSignedIn(request), body, at, {
    atMs: nowMs,
    requestId,
  })
  return {
    status: 200,
    body: toCurrent(signedIn, deps),
    headers: { 'set-cookie': toSessionCookie(secret, place) },
  }
}

export const startPasskey: Route<'start_passkey'> = async (request, deps) => {
  const place = requirePasskeyPlace(request, request.place)
  const signedIn = requireSignedIn(request)
  const { challenge, expiresAtMs, credentialIds } = await start(deps, signedIn, place, deps.clock.nowMs())
  const { personId, name } = signedIn.person
  const body: NewPasskeyChallenge = {
    challenge,
    rp_id: place.rpId,
    user_handle: Buffer.from(personId).toString('base64url'),
    user_name: name,
    algorithms: [...ALGORITHMS],
    credential_ids: [...credentialIds],
    expires_at: formatTime(expiresAtMs),
  }
  return { status: 200, body }
}

export const addPasskey: Route<'add_passkey'> = async (request, deps) => {
  const place = requirePasskeyPlace(request, request.place)
  const signedIn = requireSignedIn(request)
  const added = await add(deps, signedIn, request.body, place, personContext(request, deps))
  return { status: 201, body: toPasskeyBody(added) }
}

export const listPasskeys: Route<'list_passkeys'> = async (request, deps) => {
  const personId = requirePersonId(request, request.query.person_id)
  return answerPage(
    request,
    deps,
    `passkeys ${personId}`,
    (page) => deps.store.passkeys(personId, page),
    ({ passkeyId }) => passkeyId,
    toPasskeyBody,
  )
}

export const renamePasskey: Route<'rename_passkey'> = async (request, deps) => {
  const { personId } = requireSignedIn(request).person
  const { params, body } = request
  const renamed = await rename(deps, personId, params.passkey_id, body.name, personContext(request, deps))
  return { status: 200, body: toPasskeyBody(renamed) }
}

export const removePasskey: Route<'remove_passkey'> = async (request, deps) => {
  const { params, query } = request
  const personId = requirePersonId(request, query.person_id)
  const { sessionId } = requireSignedIn(request).session
  await remove(deps, personId, params.passkey_id, sessionId, personContext(request, deps))
  return { status: 204 }
}

function answerChallenge(body: PasskeyChallenge): RouteAnswer {
  return { status: 200, body }
}

function toPasskeyBody({ passkeyId, name, rpId, createdAtMs, usedAtMs }: Passkey): PasskeyBody {
  return {
    passkey_id: passkeyId,
    name,
    rp_id: rpId,
    created_at: formatTime(createdAtMs),
    last_used_at: usedAtMs === undefined ? null : formatTime(usedAtMs),
  }
}
