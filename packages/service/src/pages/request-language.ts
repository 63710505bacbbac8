import type { RouteRequest } from '../route.ts'
import { chooseLanguage, languages } from './choose-language.ts'
import type { Messages } from './messages.ts'

type Lines = RouteRequest['lines']

/**
 * The texts for a request: in the language that the person chose in a menu of ours, now or before,
 * else one that the site names, else one that the browser prefers.
 */
export function requestLanguage(lines: Lines, uiLocales?: string): Messages {
  const chosen = isFromOurPage(lines) ? uiLocales : (findRemembered(lines) ?? uiLocales)
  return chooseLanguage(chosen, lines('accept-language')?.join(','))
}

/**
 * The Set-Cookie values that remember a choice in a menu of ours. Empty when another page made the
 * request: a site may name a language for its own sign-in only.
 */
export function rememberLanguage(lines: Lines, uiLocales: string | undefined, baseUrl: string): string[] {
  if (!isFromOurPage(lines) || !isLanguage(uiLocales)) return []
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  return [`${COOKIE}=${uiLocales}; Path=/; Max-Age=${YEAR_SECONDS}; HttpOnly; SameSite=Lax${secure}`]
}

const COOKIE = 'countersign-language'
const YEAR_SECONDS = 31_536_000

/** Undefined unless there is exactly one such cookie, with the name of a language. */
function findRemembered(lines: Lines): string | undefined {
  const pairs = (lines('cookie') ?? []).flatMap((line) => line.split(';').map((pair) => pair.trim()))
  const [found, more] = pairs.filter((pair) => pair.startsWith(`${COOKIE}=`))
  const value = found?.slice(COOKIE.length + 1)
  return more === undefined && isLanguage(value) ? value : undefined
}

function isLanguage(value: string | undefined): boolean {
  return languages.some(({ lang }) => lang === value)
}

/** Browsers write this field themselves; a page cannot (Fetch Metadata §2.3). */
function isFromOurPage(lines: Lines): boolean {
  const site = lines('sec-fetch-site')
  return site?.length === 1 && site[0] === 'same-origin'
}
