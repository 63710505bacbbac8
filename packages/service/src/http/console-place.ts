import { limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { RawRequest } from './raw-request.ts'

type Lines = Pick<RawRequest, 'lines'>

/** Where a listener serves the console: which origin its pages have, and its cookie. */
export interface ConsolePlace {
  readonly origin: string
  readonly cookieName: string
  readonly isSecure: boolean
}

/**
 * `__Host-` keeps other hosts and plain http from setting the cookie. On http, which is for
 * loopback only, browsers know no such name. There the port distinguishes services, because cookies
 * know no ports.
 */
export function toConsolePlace(origin: string): ConsolePlace {
  const { protocol, port } = new URL(origin)
  const isSecure = protocol === 'https:'
  const cookieName = isSecure ? '__Host-countersign-console' : `countersign-console-${port || '80'}`
  return { origin, cookieName, isSecure }
}

/** The secret in the cookie. Undefined when there is none, or more than one of that name. */
export function findSessionSecret({ lines }: Lines, { cookieName }: ConsolePlace): string | undefined {
  const start = `${cookieName}=`
  const pairs = (lines('cookie') ?? []).flatMap((line) => line.split(';').map((pair) => pair.trim()))
  const [found, more] = pairs.filter((pair) => pair.startsWith(start))
  return more === undefined ? found?.slice(start.length) : undefined
}

export function toSessionCookie(secret: string, place: ConsolePlace): string {
  return cookie(secret, limits.console_session_seconds, place)
}

/** Deletes the cookie. */
export function toEndedCookie(place: ConsolePlace): string {
  return cookie('', 0, place)
}

function cookie(value: string, seconds: number, { cookieName, isSecure }: ConsolePlace): string {
  const secure = isSecure ? '; Secure' : ''
  return `${cookieName}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
}

/**
 * Throws unless the browser says that the request comes from a page of this very origin: by
 * Sec-Fetch-Site or, in browsers that do not send it, by Origin. An Origin that is sent must be the
 * origin of the console, or that of the address under which the browser has reached this listener.
 */
export function requireConsolePage({ lines }: Lines, { origin }: ConsolePlace): void {
  const site = lines('sec-fetch-site')
  const from = lines('origin')
  if (from !== undefined && !(from.length === 1 && isOwn(from[0] ?? '', origin, lines('host'))))
    throw new Problem('origin_forbidden')
  if (site !== undefined && !(site.length === 1 && site[0] === 'same-origin'))
    throw new Problem('csrf_invalid')
  if (site === undefined && from === undefined) throw new Problem('csrf_invalid')
}

function isOwn(from: string, origin: string, host: readonly string[] | undefined): boolean {
  if (from === origin) return true
  return URL.canParse(from) && new URL(from).origin === from && new URL(from).host === host?.[0]
}
