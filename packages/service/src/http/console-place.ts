import { isLoopback, limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { RawRequest } from './raw-request.ts'

type Lines = Pick<RawRequest, 'lines'>

/** Where a listener serves the console: which origin its pages have, and its cookie. */
export interface ConsolePlace {
  readonly origin: string
  readonly cookieName: string
  /** The cookie of a sign-in with the identity provider. */
  readonly roundTripName: string
  readonly isSecure: boolean
  /** Whether `console_url` gives the console an origin of its own: then it has no other address. */
  readonly isExclusive: boolean
}

/**
 * `__Host-` keeps other hosts and plain http from setting the cookie. On http, which is for
 * loopback only, browsers know no such name. There the port distinguishes services, because cookies
 * know no ports.
 */
export function toConsolePlace(origin: string, isExclusive = false): ConsolePlace {
  const { protocol, port } = new URL(origin)
  const isSecure = protocol === 'https:'
  const toName = (name: string) => (isSecure ? `__Host-${name}` : `${name}-${port || '80'}`)
  return {
    origin,
    cookieName: toName('countersign-console'),
    roundTripName: toName('countersign-sign-in'),
    isSecure,
    isExclusive,
  }
}

/** The place that `console_url` names, if it is set. */
export function findConsolePlace({
  consoleUrl,
}: {
  readonly consoleUrl: string | undefined
}): ConsolePlace | undefined {
  return consoleUrl === undefined ? undefined : toConsolePlace(consoleUrl, true)
}

/** The secret in the cookie. Undefined when there is none, or more than one of that name. */
export function findSessionSecret(request: Lines, { cookieName }: ConsolePlace): string | undefined {
  return findCookie(request, cookieName)
}

/** What was kept in the browser when the sign-in began. Undefined like `findSessionSecret`. */
export function findRoundTrip(request: Lines, { roundTripName }: ConsolePlace): string | undefined {
  return findCookie(request, roundTripName)
}

function findCookie({ lines }: Lines, name: string): string | undefined {
  const start = `${name}=`
  const pairs = (lines('cookie') ?? []).flatMap((line) => line.split(';').map((pair) => pair.trim()))
  const [found, more] = pairs.filter((pair) => pair.startsWith(start))
  return more === undefined ? found?.slice(start.length) : undefined
}

export function toSessionCookie(secret: string, place: ConsolePlace): string {
  return toCookie(place.cookieName, secret, limits.console_session_seconds, 'Strict', place)
}

/** Deletes the cookie. */
export function toEndedCookie(place: ConsolePlace): string {
  return toCookie(place.cookieName, '', 0, 'Strict', place)
}

/**
 * For the way to the identity provider and back. The browser comes back from another site, so it
 * would not send a cookie that is `Strict`.
 */
export function toRoundTripCookie(sealed: string, place: ConsolePlace): string {
  return toCookie(place.roundTripName, sealed, limits.console_sign_in_seconds, 'Lax', place)
}

/** Deletes it. */
export function toEndedRoundTrip(place: ConsolePlace): string {
  return toCookie(place.roundTripName, '', 0, 'Lax', place)
}

function toCookie(
  name: string,
  value: string,
  seconds: number,
  sameSite: 'Strict' | 'Lax',
  { isSecure }: ConsolePlace,
): string {
  const secure = isSecure ? '; Secure' : ''
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${secure}`
}

/**
 * The origin under which the browser has opened the console. On this machine it may have another
 * name than the one in the settings: localhost and 127.0.0.1 are different origins.
 */
export function findPageOrigin({ lines }: Lines, place: ConsolePlace): string {
  const reached = `http://${lines('host')?.[0] ?? ''}`
  const isHere = !place.isExclusive && !place.isSecure && isOrigin(reached) && isLoopback(new URL(reached))
  return isHere ? reached : place.origin
}

/**
 * Throws unless the browser says that the request comes from a page of this very origin: by
 * Sec-Fetch-Site or, in browsers that do not send it, by Origin. An Origin that is sent must be the
 * origin of the console or, unless the console has its own, that of the address under which the
 * browser has reached this listener.
 */
export function requireConsolePage({ lines }: Lines, place: ConsolePlace): void {
  const site = lines('sec-fetch-site')
  const from = lines('origin')
  if (from !== undefined && !(from.length === 1 && isOwn(from[0] ?? '', place, lines('host'))))
    throw new Problem('origin_forbidden')
  if (site !== undefined && !(site.length === 1 && site[0] === 'same-origin'))
    throw new Problem('csrf_invalid')
  if (site === undefined && from === undefined) throw new Problem('csrf_invalid')
}

/** A page that came over http may be changed on its way, except on loopback. */
function isOwn(
  from: string,
  { origin, isExclusive }: ConsolePlace,
  host: readonly string[] | undefined,
): boolean {
  if (from === origin) return true
  if (isExclusive || !isOrigin(from)) return false
  const url = new URL(from)
  return url.host === host?.[0] && (url.protocol === 'https:' || isLoopback(url))
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}
