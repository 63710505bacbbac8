import { randomBytes } from 'node:crypto'
import { type AddPasskeyRequest, limits, type PasskeyAssertion } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import type { PasskeyPlace } from '../http/passkey-place.ts'
import type { SignedIn } from '../keys/console-sessions.ts'
import { createId } from '../keys/ids.ts'
import {
  type Challenge,
  type ChallengePurpose,
  createChallenge,
  parseChallenge,
} from '../keys/passkey-challenges.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { parseClientData, verifyAssertion, verifyNewPasskey } from '../keys/webauthn.ts'
import { Problem } from '../problem.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Passkey, PasskeyUse, UsedChallenge } from '../store/operations/passkeys.ts'

type PasskeyDeps = Pick<Deps, 'store' | 'consoleSessions' | 'keys'>
type Moment = Pick<AuditContext, 'atMs' | 'requestId'>

/** A session with the secret of its new cookie, which is stored nowhere. */
type Opened = SignedIn & { readonly secret: string }

/** Another node, whose clock is behind, must find a used challenge as long as it accepts it. */
const MARGIN_MS = 600_000

/** The provider ends access by not signing in any more, so no other way may go around it. */
const PROVIDER_ONLY =
  'You sign in at your identity provider. A passkey confirms what you do, and opens no session.'

const EVERY_PASSKEY = { after: undefined, limit: limits.passkeys_per_person_max }

/** A challenge for a browser in which no person has signed in. */
export function startSignIn(
  { keys }: Pick<Deps, 'keys'>,
  { origin }: PasskeyPlace,
  nowMs: number,
): ReturnType<typeof createChallenge> {
  return createChallenge(keys, { act: 'sign_in', origin }, nowMs)
}

/**
 * Opens a session with a passkey. The session that the browser had before ends: `beforeSecret` is
 * its cookie. Throws `passkey_invalid`, in the same way for everything that is not valid.
 */
export async function openSessionWithPasskey(
  deps: PasskeyDeps,
  assertion: PasskeyAssertion,
  place: PasskeyPlace,
  beforeSecret: string | undefined,
  context: Moment,
): Promise<Opened> {
  const { origin } = place
  const use = await requireUse(deps, assertion, place, { act: 'sign_in', origin }, context.atMs)
  const { secret, ...names } = createSessionNames(context.atMs)
  const opened = await deps.store.openPasskeySession(
    use,
    { ...names, expiresAtMs: context.atMs + limits.console_session_seconds * 1000 },
    beforeSecret && secretSha256(beforeSecret),
    limits.console_sessions_per_person_max,
    context,
  )
  if (opened === undefined) throw new Problem('passkey_invalid')
  if (opened === 'provider') throw new Problem('passkey_invalid', PROVIDER_ONLY)
  deps.consoleSessions.forget(opened.person.personId)
  return { ...opened, secret }
}

/**
 * A challenge with which a person confirms their session. Throws `not_found` when they have no
 * passkey at this place.
 */
export async function startStepUp(
  { store, keys }: Pick<Deps, 'store' | 'keys'>,
  { session }: SignedIn,
  { origin, rpId }: PasskeyPlace,
  nowMs: number,
): Promise<ReturnType<typeof createChallenge> & { readonly credentialIds: readonly string[] }> {
  const own = await store.passkeys(session.personId, EVERY_PASSKEY)
  const credentialIds = own.filter((passkey) => passkey.rpId === rpId).map(({ credentialId }) => credentialId)
  if (credentialIds.length === 0)
    throw new Problem(
      'not_found',
      'You have no passkey for this address. Sign in with a link, then add one in the settings.',
    )
  const { sessionId } = session
  return { ...createChallenge(keys, { act: 'step_up', origin, sessionId }, nowMs), credentialIds }
}

/**
 * Confirms a session with a passkey of its person. It gets another id and secret, so that a cookie
 * that was stolen before is not elevated. Throws `passkey_invalid`.
 */
export async function stepUp(
  deps: PasskeyDeps,
  { session }: SignedIn,
  assertion: PasskeyAssertion,
  place: PasskeyPlace,
  context: Moment,
): Promise<Opened> {
  const { sessionId, personId } = session
  const purpose = { act: 'step_up', origin: place.origin, sessionId } as const
  const use = await requireUse(deps, assertion, place, purpose, context.atMs)
  const { secret, ...names } = createSessionNames(context.atMs)
  const raised = await deps.store.raiseConsoleSession(session, use, names, context)
  deps.consoleSessions.forget(personId)
  if (raised === undefined) throw new Problem('passkey_invalid')
  return { ...raised, secret }
}

/**
 * What a browser needs to create a passkey. Throws `step_up_required` without a recent sign-in, and
 * `validation_failed` when the person has as many as allowed.
 */
export async function startPasskey(
  { store, keys }: Pick<Deps, 'store' | 'keys'>,
  { session }: SignedIn,
  { origin }: PasskeyPlace,
  nowMs: number,
): Promise<ReturnType<typeof createChallenge> & { readonly credentialIds: readonly string[] }> {
  requireRecent(session, nowMs)
  const { sessionId, personId } = session
  const own = await store.passkeys(personId, EVERY_PASSKEY)
  if (own.length >= limits.passkeys_per_person_max) throw tooManyPasskeys()
  const challenge = createChallenge(keys, { act: 'add', origin, sessionId }, nowMs)
  return { ...challenge, credentialIds: own.map(({ credentialId }) => credentialId) }
}

/**
 * Adds a passkey. Throws `step_up_required`, `passkey_invalid`, `already_exists` when it was added
 * before, and `validation_failed` when the person has as many as allowed.
 */
export async function addPasskey(
  { store, keys }: Pick<Deps, 'store' | 'keys'>,
  { session }: SignedIn,
  { name, ...given }: AddPasskeyRequest,
  place: PasskeyPlace,
  context: AuditContext,
): Promise<Passkey> {
  const { atMs } = context
  requireRecent(session, atMs)
  const { sessionId, personId } = session
  const purpose = { act: 'add', origin: place.origin, sessionId } as const
  const { challenge, used } = requireChallenge({ keys }, given.client_data, purpose, atMs)
  const verified = await verifyNewPasskey(given, challenge, place)
  if (verified === undefined) throw new Problem('passkey_invalid')
  const passkey = { ...verified, passkeyId: createId('passkey_', atMs), personId, rpId: place.rpId, name }
  const added = await store.addPasskey(passkey, used, limits.passkeys_per_person_max, context)
  if (added === 'full') throw tooManyPasskeys()
  if (added === 'exists') throw new Problem('already_exists', 'This passkey was added before.')
  if (added === undefined || added === 'used') throw new Problem('passkey_invalid')
  return added
}

/** Throws `not_found`. */
export async function renamePasskey(
  { store }: Pick<Deps, 'store'>,
  personId: string,
  passkeyId: string,
  name: string,
  context: AuditContext,
): Promise<Passkey> {
  const renamed = await store.renamePasskey(personId, passkeyId, name, context)
  if (renamed === undefined) throw new Problem('not_found')
  return renamed
}

/** Removes a passkey and ends its sessions, on this node immediately. Throws `not_found`. */
export async function removePasskey(
  { store, consoleSessions }: Pick<Deps, 'store' | 'consoleSessions'>,
  personId: string,
  passkeyId: string,
  keptSessionId: string,
  context: AuditContext,
): Promise<void> {
  const removed = await store.removePasskey(personId, passkeyId, keptSessionId, context)
  consoleSessions.forget(personId)
  if (!removed) throw new Problem('not_found')
}

async function requireUse(
  { store, keys }: Pick<Deps, 'store' | 'keys'>,
  assertion: PasskeyAssertion,
  place: PasskeyPlace,
  purpose: ChallengePurpose,
  nowMs: number,
): Promise<PasskeyUse> {
  const { challenge, used } = requireChallenge({ keys }, assertion.client_data, purpose, nowMs)
  const passkey = await store.passkeyByCredentialId(assertion.credential_id)
  if (passkey === undefined) throw new Problem('passkey_invalid')
  const counter = await verifyAssertion(assertion, passkey, challenge, place)
  if (counter === undefined) throw new Problem('passkey_invalid')
  return { passkeyId: passkey.passkeyId, counter, challenge: used }
}

function requireChallenge(
  { keys }: Pick<Deps, 'keys'>,
  clientData: string,
  purpose: ChallengePurpose,
  nowMs: number,
): { readonly challenge: string; readonly used: UsedChallenge } {
  const challenge = parseClientData(clientData)?.challenge ?? ''
  const found: Challenge | undefined = parseChallenge(keys, purpose, challenge, nowMs)
  if (found === undefined) throw new Problem('passkey_invalid')
  return { challenge, used: { ...found, expiresAtMs: found.expiresAtMs + MARGIN_MS } }
}

/** With a passkey of their own, people who have only stolen a session could keep it. */
function requireRecent({ elevatedUntilMs }: SignedIn['session'], nowMs: number): void {
  if (elevatedUntilMs <= nowMs) throw new Problem('step_up_required')
}

function createSessionNames(atMs: number) {
  const secret = randomBytes(32).toString('base64url')
  return {
    secret,
    sha256: secretSha256(secret),
    sessionId: createId('session_', atMs),
    elevatedUntilMs: atMs + limits.console_elevated_seconds * 1000,
  }
}

function tooManyPasskeys(): Problem {
  const message = `cannot be added: you have ${limits.passkeys_per_person_max} passkeys already`
  return new Problem('validation_failed', `The passkey ${message}. Remove one first.`, {
    errors: [{ path: 'passkey', message }],
  })
}
