import { timingSafeEqual } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import { secretSha256 } from '../../keys/secret-text.ts'
import type { RouteRequest } from '../../route.ts'

type Lines = Pick<RouteRequest, 'lines'>

/**
 * The cookie that binds a browser to one sign-in. Each sign-in has a new one, so an attacker cannot
 * plant a known one. `__Host-` keeps other hosts and plain http from setting it; on http, which is
 * for loopback only, browsers know no such name.
 */
function cookieName(state: string, baseUrl: string): string {
  return `${isSecure(baseUrl) ? '__Host-' : ''}countersign-${secretSha256(state).slice(0, 12)}`
}

/**
 * The secret that binds this browser to the sign-in, from its cookie. Undefined when there is none,
 * more than one, or one that this service cannot have set.
 */
export function findBrowserSecret({ lines }: Lines, state: string, baseUrl: string): string | undefined {
  const start = `${cookieName(state, baseUrl)}=`
  const pairs = (lines('cookie') ?? []).flatMap((line) => line.split(';').map((pair) => pair.trim()))
  const [found, more] = pairs.filter((pair) => pair.startsWith(start)).map((pair) => pair.slice(start.length))
  return more === undefined && found !== undefined && /^[A-Za-z0-9_-]{43}$/.test(found) ? found : undefined
}

export function toBindingCookie(browser: string, state: string, baseUrl: string): string {
  return cookie(browser, limits.sign_in_state_seconds, state, baseUrl)
}

/** Deletes the cookie when the sign-in is over. */
export function toExpiredCookie(state: string, baseUrl: string): string {
  return cookie('', 0, state, baseUrl)
}

function cookie(value: string, seconds: number, state: string, baseUrl: string): string {
  const secure = isSecure(baseUrl) ? '; Secure' : ''
  return `${cookieName(state, baseUrl)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}

function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith('https:')
}

/**
 * Proves that a form comes from the page that this browser loaded: no other party knows the secret
 * of the browser.
 */
export function deriveCsrfToken(browser: string): string {
  return secretSha256(`form ${browser}`)
}

export function isCsrfToken(token: string | undefined, browser: string): boolean {
  const expected = Buffer.from(deriveCsrfToken(browser))
  const given = Buffer.from(token ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
