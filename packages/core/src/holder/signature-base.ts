import type { HolderRequest } from './request.ts'

/** A component that the request does not have or that is not supported. */
export interface MissingComponent {
  readonly missing: string
}

/**
 * The signed text (RFC 9421 §2.5), or the first component without a value. `signatureParams` is the
 * serialized inner list of the components with the parameters. Every value is one line of ASCII, so
 * a value cannot imitate another line.
 */
export function signatureBase(
  request: HolderRequest,
  components: readonly string[],
  signatureParams: string,
): string | MissingComponent {
  let base = ''
  for (const name of components) {
    const value = componentValue(request, name)
    if (value === undefined) return { missing: name }
    base += `"${name}": ${value}\n`
  }
  return `${base}"@signature-params": ${signatureParams}`
}

/**
 * Undefined if the request does not have the component. `@request-target` is not supported: its
 * form depends on the HTTP version of a hop that we may not see.
 */
function componentValue(request: HolderRequest, name: string): string | undefined {
  switch (name) {
    case '@method':
      return METHOD.test(request.method) ? request.method : undefined
    case '@authority':
      return normalAuthority(request)
    case '@scheme':
      return request.scheme
    case '@path':
      return normalPath(request)
    case '@query':
      return normalQuery(request)
    case '@target-uri':
      return targetUri(request)
    default:
      return FIELD_NAME.test(name) ? fieldValue(request, name) : undefined
  }
}

const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/**
 * Lower case only (RFC 9421 §2.1). `@` is not allowed, so unknown derived components do not match.
 */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e]*$/

/**
 * Unfolds, trims and joins (RFC 9421 §2.1). Undefined if the result is not plain ASCII, which
 * includes lines that cannot be unfolded.
 */
function fieldValue(request: HolderRequest, name: string): string | undefined {
  const lines = request.header(name)
  if (lines === undefined || lines.length === 0) return undefined
  const value = lines.map((line) => trimBlanks(line.includes('\n') ? unfold(line) : line)).join(', ')
  return FIELD_VALUE.test(value) ? value : undefined
}

function unfold(line: string): string {
  const [first = '', ...rest] = line.split(/\r?\n/)
  return rest.every((part) => isBlank(part.charCodeAt(0))) ? [first, ...rest].map(trimBlanks).join(' ') : line
}

/** Only spaces and tabs, unlike `trim`. A regular expression would not be linear. */
function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(charCode: number): boolean {
  return charCode === 0x20 || charCode === 0x09
}

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+;=-]+)(?::([0-9]*))?$/i
const DEFAULT_PORTS = { http: ['80'], https: ['443'], unknown: ['80', '443'] }

/**
 * Lower case, without the default port (RFC 9421 §2.2.3). Without a scheme, `http://host:443` and
 * `https://host` are the same. That is acceptable: a proof that does not cover `@scheme` is valid
 * for both schemes anyway.
 */
function normalAuthority(request: HolderRequest): string | undefined {
  const [, host, port] = AUTHORITY.exec(request.authority) ?? []
  if (host === undefined) return undefined
  const isDefault = !port || DEFAULT_PORTS[request.scheme ?? 'unknown'].includes(port)
  return isDefault ? host.toLowerCase() : `${host.toLowerCase()}:${port}`
}

const PATH = /^\/[\x21\x22\x24-\x3e\x40-\x7e]*$/
const QUERY = /^\?[\x21\x22\x24-\x7e]*$/

function normalPath({ path }: HolderRequest): string | undefined {
  if (path === '') return '/'
  return PATH.test(path) ? path : undefined
}

/** A missing query is signed like an empty one (RFC 9421 §2.2.7). */
function normalQuery({ query }: HolderRequest): string | undefined {
  if (query === '') return '?'
  return QUERY.test(query) ? query : undefined
}

function targetUri(request: HolderRequest): string | undefined {
  const authority = normalAuthority(request)
  const path = normalPath(request)
  if (
    request.scheme === undefined ||
    authority === undefined ||
    path === undefined ||
    normalQuery(request) === undefined
  )
    return undefined
  return `${request.scheme}://${authority}${path}${request.query}`
}
