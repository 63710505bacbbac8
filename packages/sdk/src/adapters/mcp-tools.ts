import { decodeBase64url, isJsonObject, type JsonObject, type JsonValue } from '@countersign/core'
import { type ReadDemand, readDemand } from '../guard/demand.ts'
import type { GuardBody, GuardRequest } from '../guard/request.ts'
import { requireOptions } from '../shared/require-options.ts'

/** Which scope each tool of an MCP server needs, besides that of the whole server. */
export interface McpToolScopes {
  /** By the name of the tool. */
  readonly scopes: Readonly<Record<string, string | readonly string[]>>
  /** For every tool that `scopes` does not name, so that a new tool is never open by mistake. */
  readonly default: string | readonly string[]
}

/** The same with all scopes parsed. */
export interface ReadToolScopes {
  readonly scopes: ReadonlyMap<string, ReadDemand>
  readonly default: ReadDemand
}

/** Why a body is not passed on to the server: a sentence for the caller. */
export interface McpBodyFault {
  readonly code: 'request_malformed' | 'request_too_large'
  readonly detail: string
}

const MESSAGES_MAX = 64
/** No other parameter: a quoted one could end like this, behind a charset that the server uses. */
const ONLY_UTF8 = /^[^;"]*;\s*charset\s*=\s*(?:utf-8|"utf-8")\s*$/i
/** Which parameter the header `Mcp-Name` repeats, by method. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['resources/subscribe', 'uri'],
  ['resources/unsubscribe', 'uri'],
])

/** Throws a TypeError for scopes that are wrong. */
export function readToolScopes(tools: McpToolScopes): ReadToolScopes {
  requireOptions<McpToolScopes>('tools', tools, { scopes: 'object', default: 'strings' })
  if (tools.scopes === undefined || tools.default === undefined)
    throw new TypeError("tools must have scopes and a default: { scopes: { pay: 'pay' }, default: 'read' }")
  return {
    scopes: new Map(Object.entries(tools.scopes).map(([name, scope]) => [name, readDemand({ scope })])),
    default: readDemand({ scope: tools.default }),
  }
}

/**
 * The scopes that the tools in this body need, or what is wrong with the body. `parsed` is what
 * other code has parsed from it. A header that names another method or tool than the body is
 * rejected, because something between client and server may have decided by it (the MCP
 * specification of 2026-07-28).
 */
export function findToolDemand(
  request: Pick<GuardRequest, 'header'>,
  body: GuardBody | { readonly parsed: unknown },
  tools: ReadToolScopes,
): ReadDemand | undefined | McpBodyFault {
  if (body === 'too_large')
    return {
      code: 'request_too_large',
      detail: 'The body is larger than this application accepts. Send a smaller one.',
    }
  if (body === 'unseen')
    throw new TypeError(
      'the body was read before requireCredential saw it: guard first, or keep the raw bytes (docs/guides/frameworks.md)',
    )
  const value = body && 'parsed' in body ? (body.parsed as JsonValue) : parseBody(request, body)
  const messages = Array.isArray(value) ? value : [value]
  if (messages.length === 0 || messages.length > MESSAGES_MAX || !messages.every(isJsonObject))
    return malformed(
      'The body is not a JSON-RPC message in UTF-8. Send one message, or a list of at most 64.',
    )
  const [method, ...otherMethods] = request.header('mcp-method')
  const [name, ...otherNames] = request.header('mcp-name')
  if (otherMethods.length > 0 || otherNames.length > 0)
    return malformed('Mcp-Method or Mcp-Name was sent more than once. Send each once.')
  const demands = new Set<ReadDemand>()
  for (const message of messages) {
    if (method !== undefined && message.method !== method)
      return malformed('Mcp-Method differs from the method in the body. Send the same in both.')
    const named = findName(message)
    if (name !== undefined && (named === undefined || named !== decodeHeader(name)))
      return malformed('Mcp-Name differs from the name in the body. Send the same in both.')
    if (message.method !== 'tools/call') continue
    if (named === undefined) return malformed('The call names no tool. Send its name in params.name.')
    demands.add(tools.scopes.get(named) ?? tools.default)
  }
  const [first] = demands
  return first && { ...first, scope: [...new Set([...demands].flatMap(({ scope }) => scope))] }
}

export function isMcpBodyFault(found: ReadDemand | undefined | McpBodyFault): found is McpBodyFault {
  return found !== undefined && 'code' in found
}

function findName({ method, params }: JsonObject): string | undefined {
  const parameter = typeof method === 'string' ? NAMED.get(method) : undefined
  if (parameter === undefined || !isJsonObject(params) || !Object.hasOwn(params, parameter)) return undefined
  const name = params[parameter]
  return typeof name === 'string' ? name : undefined
}

/**
 * Undefined for what is not JSON in UTF-8. Read like both MCP SDKs do, which also read other
 * encodings that the content type names: there the same bytes could name another tool.
 */
function parseBody(
  request: Pick<GuardRequest, 'header'>,
  bytes: Uint8Array | undefined,
): JsonValue | undefined {
  const type = request.header('content-type').join()
  if (/charset/i.test(type) && !ONLY_UTF8.test(type)) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

/** A name that a header cannot carry comes as `=?base64?…?=`. */
function decodeHeader(value: string): string | undefined {
  const [, encoded] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value) ?? []
  if (encoded === undefined) return value
  const bytes = decodeBase64url(encoded.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_'))
  try {
    return bytes && new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function malformed(detail: string): McpBodyFault {
  return { code: 'request_malformed', detail }
}
