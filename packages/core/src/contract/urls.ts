import { isLoopbackHost } from '../holder/site-host.ts'
import { limits } from './limits.ts'

// The URL parser removes tabs and newlines, trims spaces and changes backslashes to slashes. URLs
// that it would change are rejected.
const UNFIT = /[^\x21-\x7e]|\\/

/**
 * A URL that a sign-in may return to: https, or http on loopback, without user name and fragment,
 * and canonical by the WHATWG URL standard, so that URLs can be compared as text. Undefined
 * otherwise.
 */
export function parseReturnUrl(value: unknown): URL | undefined {
  const url = parseCanonicalUrl(value, limits.return_url_chars_max)
  if (url === undefined || !isHostName(url)) return undefined
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url)) ? url : undefined
}

/**
 * A URL that webhooks may be sent to, by its text: https on port 443 or 8443, without user name and
 * fragment. Loopback URLs are returned too, with http and any port. The sender checks whether they
 * are allowed (`isLoopback`) and which address a name resolves to.
 */
export function parseWebhookUrl(value: unknown): URL | undefined {
  const url = parseCanonicalUrl(value, limits.webhook_url_chars_max)
  if (url === undefined || !isHostName(url)) return undefined
  if (isLoopback(url)) return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined
  return url.protocol === 'https:' && (url.port === '' || url.port === '8443') ? url : undefined
}

/**
 * A URL that a logo may be fetched from, by its text: as for webhooks. The fetcher checks whether
 * loopback is allowed and which address a name resolves to.
 */
export function parseLogoUrl(value: unknown): URL | undefined {
  return parseWebhookUrl(value)
}

/**
 * An address that pages link to: https, without user name, in plain ASCII. Use the URL that this
 * returns and not the text, which need not be canonical.
 */
export function parseLinkUrl(value: unknown): URL | undefined {
  const url = parsePlainUrl(value, limits.link_url_chars_max)
  return url !== undefined && url.protocol === 'https:' && isHostName(url) ? url : undefined
}

/** The same, or `mailto:` with one plain address and nothing else, such as a subject. */
export function parseSupportUrl(value: unknown): URL | undefined {
  if (typeof value === 'string' && value.length <= limits.link_url_chars_max && MAIL.test(value))
    return new URL(value)
  return parseLinkUrl(value)
}

const MAIL =
  /^mailto:[A-Za-z0-9._+-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/

/**
 * Whether the host is a loopback name or address: `localhost`, a name under it (RFC 6761 §6.3),
 * 127.0.0.0/8 or `[::1]`.
 */
export function isLoopback({ hostname }: URL): boolean {
  return isLoopbackHost(hostname)
}

function parseCanonicalUrl(value: unknown, charsMax: number): URL | undefined {
  const url = parsePlainUrl(value, charsMax)
  return url !== undefined && url.href === value && !value.includes('#') ? url : undefined
}

function parsePlainUrl(value: unknown, charsMax: number): URL | undefined {
  if (typeof value !== 'string' || value.length > charsMax || UNFIT.test(value) || !URL.canParse(value))
    return undefined
  const url = new URL(value)
  return url.username === '' && url.password === '' && url.href.length <= charsMax ? url : undefined
}

/** The parser allows `*` and other characters that no real host has. */
function isHostName({ hostname }: URL): boolean {
  return /^(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)$/.test(hostname)
}
