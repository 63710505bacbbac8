import type { HolderRequest } from './request.ts'

/** A component that the request does not have, or that we do not know how to compute. */
export interface MissingComponent {
  readonly missing: string
}

/**
 * The text that is signed (RFC 9421 §2.5), or the first component that has no value.
 * `signatureParams` is the serialised inner list of the components with the parameters. Every value
 * is a single line of ASCII, so no value can pose as a line of its own.
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
 * Undefined for what this request does not have. `@request-target` is left out: its form depends on
 * the HTTP version of a hop we may not see.
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
 * RFC 9421 §2.1: in lower case only. `@` is no letter of a field name, so derived components that
 * we do not know end here.
 */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e]*$/

/**
 * RFC 9421 §2.1: unfold, trim, join. What cannot be unfolded keeps its line break and is refused
 * with the rest that is not plain ASCII.
 */
function fieldValue(request: HolderRequest, name: string): string | undefined {
  const lines = request.header(name)
  if (lines === undefined || lines.length === 0) return undefined
  const value = lines.map((line) => trimmed(line.includes('\n') ? unfolded(line) : line)).join(', ')
  return FIELD_VALUE.test(value) ? value : undefined
}

function unfolded(line: string): string {
  const [first = '', ...rest] = line.split(/\r?\n/)
  return rest.every((part) => isBlank(part.charCodeAt(0))) ? [first, ...rest].map(trimmed).join(' ') : line
}

/** Spaces and tabs only, unlike `trim`, and in linear time, unlike a regular expression. */
function trimmed(text: string): string {
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
 * RFC 9421 §2.2.3: lower case, without the default port. Not knowing the scheme makes
 * `http://host:443` and `https://host` one; without `@scheme` a proof for `http://host` is good at
 * `https://host` anyway.
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

/** RFC 9421 §2.2.7: no query is signed like an empty one. */
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
