import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type UnverifiedJwt,
} from '@countersign/core'
import type { SignalType } from '@countersign/core/contract'
import { isName, NO_SUBJECT, readSubject } from './read-subject.ts'
import { type Signal, type SignalFault, toFault } from './signal.ts'

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const EVENTS = 'https://schemas.openid.net/secevent'

/** The events that have an effect. All others are recorded only. */
const REQUESTS: ReadonlyMap<string, Signal['request']> = new Map([
  [`${EVENTS}/caep/event-type/session-revoked`, 'sign_out'],
  [`${EVENTS}/risc/event-type/sessions-revoked`, 'sign_out'],
  [`${EVENTS}/risc/event-type/account-disabled`, 'disable'],
  [`${EVENTS}/risc/event-type/account-purged`, 'disable'],
])

/** `typ` in lower case, without `application/`. Undefined: a token without `typ` is accepted. */
const TYPES: Record<SignalType, readonly (string | undefined)[]> = {
  backchannel_logout: [undefined, 'jwt', 'logout+jwt'],
  token_revocation: [undefined, 'jwt', 'global-token-revocation+jwt'],
  events: ['secevent+jwt'],
}
/** Claims of ID tokens. Back-Channel Logout 1.0 §2.4 prohibits `nonce` for this reason. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash']
/** Claims of access tokens, ID tokens and events, none of which authenticates a sender. */
const OTHER_TOKEN_CLAIMS = ['events', 'scope', 'scp', 'azp', 'client_id', 'auth_time', 'cnf']

export const SIGNAL_AGE_MS_MAX = 7 * 86_400_000
const AHEAD_MS_MAX = 10_000
const AUTHORIZATION_SECONDS_MAX = 3600
const JTI = /^[\x21-\x7e]{1,256}$/
const EVENT_NAME = /^[\x21-\x7e]{1,256}$/

/**
 * The signal that a token states, or what is wrong with it. `subject` is `sub_id` of the body,
 * where the token only authenticates the sender. Does not look at the signature or the audience.
 */
export function readSignal(
  type: SignalType,
  { header, claims }: UnverifiedJwt,
  nowMs: number,
  subject?: JsonValue,
): Signal | SignalFault {
  const { iss, jti } = claims
  const fault = findTypeFault(type, header, claims) ?? findTimeFault(type, claims, nowMs)
  if (fault !== undefined) return toFault(fault)
  if (typeof iss !== 'string') return toFault('iss is missing', 'invalid_issuer')
  if (typeof jti !== 'string' || !JTI.test(jti))
    return toFault('jti must have 1 to 256 visible ASCII characters')
  const token = { type, issuer: iss, jti }
  // The request itself is the event: its token may have been made some time before.
  if (type === 'token_revocation')
    return { ...token, event: type, request: 'sign_out', atMs: nowMs, subject: readSubject(subject) }
  const details = type === 'backchannel_logout' ? readLogout(claims, iss) : readEvent(claims)
  if ('fault' in details) return details
  return { ...token, ...details, atMs: Math.min(details.atMs, nowMs + AHEAD_MS_MAX) }
}

type Details = Pick<Signal, 'event' | 'request' | 'atMs' | 'subject'>

function findTypeFault(type: SignalType, { typ }: JsonObject, claims: JsonObject): string | undefined {
  if (typ !== undefined && typeof typ !== 'string') return 'typ must be a text'
  if (!TYPES[type].includes(typ?.toLowerCase().replace(/^application\//, '')))
    return `typ must be ${TYPES[type].at(-1)}`
  const foreign = [...ID_TOKEN_CLAIMS, ...(type === 'token_revocation' ? OTHER_TOKEN_CLAIMS : [])]
  const found = foreign.find((name) => Object.hasOwn(claims, name))
  return found === undefined ? undefined : `it must not have the claim ${found}`
}

/** Asked positively: a clock that answers NaN accepts nothing. */
function findTimeFault(type: SignalType, { iat, exp, nbf }: JsonObject, nowMs: number): string | undefined {
  if (!isSeconds(iat)) return 'iat must be a time in whole seconds'
  const ageMs = nowMs - iat * 1000
  if (!(ageMs >= -AHEAD_MS_MAX)) return 'iat is in the future; check the clocks'
  if (!(ageMs <= SIGNAL_AGE_MS_MAX)) return 'it is older than 7 days'
  if (nbf !== undefined && !(isSeconds(nbf) && nbf * 1000 <= nowMs + AHEAD_MS_MAX))
    return 'nbf is not a time in the past'
  if (exp === undefined) return type === 'token_revocation' ? 'exp is missing' : undefined
  if (!(isSeconds(exp) && exp * 1000 > nowMs)) return 'it has expired'
  return type !== 'token_revocation' || exp - iat <= AUTHORIZATION_SECONDS_MAX
    ? undefined
    : 'it lives longer than an hour'
}

/** Back-Channel Logout 1.0 §2.6. */
function readLogout(claims: JsonObject, issuer: string): Details | SignalFault {
  const { events, sub, sid, email, iat } = claims
  if (!isJsonObject(events) || Object.keys(events).length !== 1 || !isJsonObject(events[LOGOUT_EVENT]))
    return toFault('events must have the member of a logout and no other')
  if (sub !== undefined && !isName(sub)) return toFault('sub must have 1 to 256 characters')
  if (sid !== undefined && !isName(sid)) return toFault('sid must have 1 to 256 characters')
  if (sub === undefined && sid === undefined) return toFault('it has neither sub nor sid')
  const subject = {
    subs: sub === undefined ? [] : [{ issuer, sub }],
    emails: isName(email) ? [email] : [],
    session: sid,
  }
  return { event: 'backchannel-logout', request: 'sign_out', atMs: (iat as number) * 1000, subject }
}

/** RFC 8417 allows several events in a token, but the Shared Signals Framework only one. */
function readEvent(claims: JsonObject): Details | SignalFault {
  const { events, sub_id, toe, iat } = claims
  const [named, ...more] = isJsonObject(events) ? Object.entries(events) : []
  if (named === undefined || more.length > 0) return toFault('events must have exactly one event')
  const [name, event] = named
  if (!EVENT_NAME.test(name) || name === LOGOUT_EVENT || !isJsonObject(event))
    return toFault('its event is not a security event')
  const request = REQUESTS.get(name) ?? 'none'
  if (request === 'none') return { event: name, request, atMs: 0, subject: NO_SUBJECT }
  const { subject, event_timestamp } = event
  if (sub_id !== undefined && subject !== undefined && canonicalJson(sub_id) !== canonicalJson(subject))
    return toFault('sub_id and subject of the event differ')
  const at = event_timestamp ?? toe ?? iat
  if (typeof at !== 'number' || !(at > 0)) return toFault('the time of the event must be in seconds')
  return { event: name, request, atMs: Math.ceil(at * 1000), subject: readSubject(sub_id ?? subject) }
}

function isSeconds(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 1e11
}
