import { limits } from './limits.ts'

// The parser drops tabs and newlines, trims spaces and turns backslashes into slashes; what it must
// repair we do not take.
const UNFIT = /[^\x21-\x7e]|\\/

/**
 * A URL that a sign-in may return to: https, or http on loopback; no user name, no fragment;
 * spelled as the WHATWG URL parser would spell it, so that comparing bytes is comparing URLs.
 * Undefined for anything else.
 */
export function parseReturnUrl(value: unknown): URL | undefined {
  const url = parseCanonicalUrl(value, limits.return_url_chars_max)
  if (url === undefined || !isHostName(url)) return undefined
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url)) ? url : undefined
}

/**
 * A URL that webhooks may be sent to, as far as its spelling tells: https on port 443 or 8443, no
 * user name, no fragment. A loopback URL, http too and on any port, is also returned: whether this
 * service allows it (`isLoopback`), and where other names lead, is for the sender to check.
 */
export function parseWebhookUrl(value: unknown): URL | undefined {
  const url = parseCanonicalUrl(value, limits.webhook_url_chars_max)
  if (url === undefined || !isHostName(url)) return undefined
  if (isLoopback(url)) return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined
  return url.protocol === 'https:' && (url.port === '' || url.port === '8443') ? url : undefined
}

/**
 * Whether the URL names this very machine by its spelling alone: `localhost`, a name under it (RFC
 * 6761 §6.3), 127.0.0.0/8 or `[::1]`.
 */
export function isLoopback({ hostname }: URL): boolean {
  // A parsed host of four numbers is an IPv4 address in its one canonical form, so
  // `127.0.0.1.evil.example` cannot match.
  return hostname === '[::1]' || /^(?:.+\.)?localhost$|^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function parseCanonicalUrl(value: unknown, charsMax: number): URL | undefined {
  if (typeof value !== 'string' || value.length > charsMax || UNFIT.test(value) || !URL.canParse(value))
    return undefined
  const url = new URL(value)
  return url.href === value && url.username === '' && url.password === '' && !value.includes('#')
    ? url
    : undefined
}

/** The parser lets `*` and other signs stand in a host; no host on the network has them. */
function isHostName({ hostname }: URL): boolean {
  return /^(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)$/.test(hostname)
}
