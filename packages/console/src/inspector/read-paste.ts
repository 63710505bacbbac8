import {
  CREDENTIAL_HEADER,
  type Denial,
  encodeBase64url,
  findPresentation,
  type HolderRequest,
  isDenial,
  isJsonObject,
  isJwtForm,
  type PresentedJwt,
  parseJson,
} from '@countersign/core'

/** What was pasted. `request` only if it was a whole HTTP request. */
export type Paste =
  | { readonly kind: 'credential'; readonly header: string; readonly request?: HolderRequest }
  | { readonly kind: 'jwt'; readonly jwt: PresentedJwt; readonly request?: HolderRequest }
  | { readonly kind: 'bearer'; readonly token: string; readonly request?: HolderRequest }
  /** A request that no verifier would look at any further. */
  | { readonly kind: 'denied'; readonly denial: Denial; readonly request: HolderRequest }
  | { readonly kind: 'api_key' }
  | { readonly kind: 'unknown' }

const REQUEST_LINE = /^([A-Za-z]+) (\S+) HTTP\/[0-9.]+\s*$/
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/
const AUTHORIZATION = /^(?:authorization:\s*)?(bearer|dpop)\s+(\S+)$/i
const CREDENTIAL_LINE = new RegExp(`^${CREDENTIAL_HEADER}:\\s*`, 'i')
const DEPTH_MAX = 32

/** Finds out what a text is. Undefined for an empty text. */
export function readPaste(text: string): Paste | undefined {
  const bare = text.trim()
  if (bare === '') return undefined
  const request = readRequest(text)
  if (request !== undefined) return readPresentation(request)
  if (bare.startsWith('{')) return { kind: 'credential', header: toHeader(bare) }
  const [, scheme = '', authorized] = AUTHORIZATION.exec(bare) ?? []
  const token = authorized ?? bare
  if (isJwtForm(token))
    return { kind: 'jwt', jwt: { jwt: token, scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer' } }
  if (token.startsWith('svc_sk_')) return { kind: 'api_key' }
  if (authorized !== undefined || token.startsWith('svc_at_')) return { kind: 'bearer', token }
  const header = bare.replace(CREDENTIAL_LINE, '')
  return /\s/.test(header) ? { kind: 'unknown' } : { kind: 'credential', header }
}

function readPresentation(request: HolderRequest): Paste {
  const found = findPresentation(request.header)
  if (isDenial(found)) return { kind: 'denied', denial: found, request }
  if ('header' in found) return { kind: 'credential', header: found.header, request }
  return 'jwt' in found
    ? { kind: 'jwt', jwt: found, request }
    : { kind: 'bearer', token: found.bearer, request }
}

/**
 * The signed object, or that in the member `credential` of a response. Keeps the bytes where
 * possible, so that the checks see what was pasted.
 */
function toHeader(json: string): string {
  const parsed = parseJson(json, { depthMax: DEPTH_MAX })
  const inner = 'fault' in parsed || !isJsonObject(parsed.value) ? undefined : parsed.value.credential
  const text = inner !== undefined && isJsonObject(inner) ? JSON.stringify(inner) : json
  return encodeBase64url(new TextEncoder().encode(text))
}

/**
 * A request as it is on the wire, or as `curl -v` prints it, where each line begins with `> `.
 * Undefined for other texts.
 */
function readRequest(text: string): HolderRequest | undefined {
  const all = text.split(/\r?\n/)
  const fromCurl = all.filter((line) => /^> ?/.test(line)).map((line) => line.replace(/^> ?/, ''))
  const isCurl = fromCurl.some((line) => REQUEST_LINE.test(line))
  const lines = isCurl ? fromCurl : all
  const start = lines.findIndex((line) => line.trim() !== '')
  const [, method, target] = REQUEST_LINE.exec(lines[start] ?? '') ?? []
  if (method === undefined || target === undefined) return undefined
  const rest = lines.slice(start + 1)
  const blank = rest.findIndex((line) => line.trim() === '')
  const fields = new Map<string, string[]>()
  for (const line of blank === -1 ? rest : rest.slice(0, blank)) {
    const [, name, value = ''] = FIELD.exec(line) ?? []
    if (name !== undefined) fields.set(name.toLowerCase(), [...(fields.get(name.toLowerCase()) ?? []), value])
  }
  const body = blank === -1 ? '' : rest.slice(blank + 1).join('\n')
  return toRequest(method, target, fields, isCurl ? undefined : body)
}

function toRequest(
  method: string,
  target: string,
  fields: ReadonlyMap<string, readonly string[]>,
  body: string | undefined,
): HolderRequest {
  const [, scheme, host, rest = target] = /^(https?):\/\/([^/?#]+)(.*)$/i.exec(target) ?? []
  const query = rest.indexOf('?')
  return {
    method,
    authority: host ?? fields.get('host')?.[0] ?? '',
    ...(scheme === undefined ? {} : { scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http' }),
    path: (query === -1 ? rest : rest.slice(0, query)) || '/',
    query: query === -1 ? '' : rest.slice(query),
    header: (name) => fields.get(name),
    // curl does not print the body. The last line end of a pasted text is not part of it.
    body:
      body === undefined
        ? toUnseenBody(fields)
        : body === ''
          ? 'none'
          : new TextEncoder().encode(body.replace(/\n$/, '')),
  }
}

function toUnseenBody(fields: ReadonlyMap<string, readonly string[]>): 'none' | 'unseen' {
  const length = fields.get('content-length')?.[0]
  const hasBody = (length !== undefined && length !== '0') || fields.has('transfer-encoding')
  return hasBody ? 'unseen' : 'none'
}
