import { decodeBase64url } from '../encoding/base64url.ts'
import { parseJson } from '../encoding/json.ts'
import { decodeUtf8 } from '../encoding/utf8.ts'
import { type PublicKey, parseMultikey, publicKeyFromJwk } from './keys.ts'

/** A key and its fragment without `#`: the verificationMethod is `did#id`. */
export interface DidKey {
  readonly id: string
  readonly key: PublicKey
}

const DID_KEY = 'did:key:'
const DID_JWK = 'did:jwk:'
const DID_WEB = 'did:web:'

const DID_JWK_CHARS_MAX = 1024
const DID_WEB_CHARS_MAX = 1024
const JWK_DEPTH_MAX = 4

/**
 * Undefined unless the value is a canonical `did:key` of a supported algorithm, without fragment or
 * query.
 */
export function parseDidKey(did: unknown): PublicKey | undefined {
  return typeof did === 'string' && did.startsWith(DID_KEY)
    ? parseMultikey(did.slice(DID_KEY.length))
    : undefined
}

export function didKey(key: PublicKey): string {
  return DID_KEY + key.multikey
}

/** The verificationMethod of a `did:key`, `did:key:z…#z…`. */
export function didKeyMethod(key: PublicKey): string {
  return `${DID_KEY}${key.multikey}#${key.multikey}`
}

/**
 * The key of a `did:jwk`, parsed as strictly as a credential: canonical base64url, UTF-8 and JSON.
 * Its verificationMethod is `did#0`.
 */
export function parseDidJwk(did: unknown): PublicKey | undefined {
  if (typeof did !== 'string' || !did.startsWith(DID_JWK) || did.length > DID_JWK_CHARS_MAX) return undefined
  const bytes = decodeBase64url(did.slice(DID_JWK.length))
  const text = bytes && decodeUtf8(bytes)
  if (text === undefined) return undefined
  const json = parseJson(text, { depthMax: JWK_DEPTH_MAX })
  return 'fault' in json ? undefined : publicKeyFromJwk(json.value)
}

/**
 * The keys of a DID that contains them (`did:key`, `did:jwk`). Undefined for other methods and
 * malformed DIDs.
 */
export function findDidKeys(did: unknown): readonly DidKey[] | undefined {
  const own = parseDidKey(did)
  if (own !== undefined) return [{ id: own.multikey, key: own }]
  const key = parseDidJwk(did)
  return key && [{ id: '0', key }]
}

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const HOST_AND_PORT = new RegExp(`^((?:${LABEL}\\.)*${LABEL})(?:%3A([1-9][0-9]{0,4}))?$`)
const HOST_CHARS_MAX = 253
const PORT_MAX = 65_535
/**
 * URL parsers read a host with such a last label as an IPv4 address (WHATWG URL, "ends in a
 * number").
 */
const NUMERIC_LABEL = /^(?:[0-9]+|0x[0-9a-f]*)$/
/** No percent-encoding: it could hide a slash or dots, or give one path two forms. */
const PATH_SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/

/**
 * The URL of a `did:web` document. Undefined unless the host is a lower-case DNS name, not an
 * address, with an optional `%3A` port and plain path segments. The caller decides whether the host
 * may be contacted.
 */
export function parseDidWeb(did: unknown): { readonly url: string } | undefined {
  if (typeof did !== 'string' || !did.startsWith(DID_WEB) || did.length > DID_WEB_CHARS_MAX) return undefined
  const [authority = '', ...path] = did.slice(DID_WEB.length).split(':')
  const [, host, port] = HOST_AND_PORT.exec(authority) ?? []
  if (host === undefined || host.length > HOST_CHARS_MAX || Number(port ?? 0) > PORT_MAX) return undefined
  if (NUMERIC_LABEL.test(host.slice(host.lastIndexOf('.') + 1))) return undefined
  if (!path.every((segment) => PATH_SEGMENT.test(segment))) return undefined
  const origin = `https://${host}${port === undefined ? '' : `:${port}`}`
  return {
    url: path.length === 0 ? `${origin}/.well-known/did.json` : `${origin}/${path.join('/')}/did.json`,
  }
}
