import {
  CREDENTIAL_HEADER,
  credentialHeader,
  delegateCredential,
  didKey,
  encodeBase64url,
  holderRequestFrom,
  isDenial,
  type JsonObject,
  type PrivateKey,
  readCredentialObject,
  signRequest,
} from '@countersign/core'
import { type CredentialObject, sleep } from '../client/call.ts'
import { readDenial } from '../client/read-denial.ts'
import { type BaseUrlOptions, PLAIN_HTTP } from '../shared/base-url.ts'
import { type OptionKinds, requireOptions } from '../shared/require-options.ts'
import { type AccessTokens, createAccessTokens, type ExchangeOptions } from './access-tokens.ts'
import { type Outgoing, readOrigins, readOutgoing, toOrigin, toRequestInit } from './outgoing.ts'
import { nextHop } from './redirect.ts'

export interface AgentFetchOptions extends BaseUrlOptions {
  /** The signed credential, as it was issued. */
  readonly credential: CredentialObject
  /**
   * The key that the credential is bound to. Required for a bound credential, an error for others.
   */
  readonly holderKey?: PrivateKey
  /**
   * The origins that may receive the credential, such as `https://shop.example`. Requests to all
   * others are sent without it.
   */
  readonly origins: string | readonly string[]
  /**
   * Presents a short-lived bearer token instead of the credential, for routes that do not accept
   * its header. Default: the credential itself is presented.
   */
  readonly exchange?: ExchangeOptions
  /**
   * Called with the origin of each request that goes out without the credential because `origins`
   * does not list it. Default: a warning on the console, once for each origin, when such a request
   * is answered with `credential_missing`.
   */
  readonly onUnlisted?: (origin: string) => void
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  readonly nowMs?: () => number
  /** How many redirects are followed. Default 5. */
  readonly redirectsMax?: number
  /**
   * The largest body, in bytes; it is kept in memory, since it is signed as a whole. Default 10
   * MiB.
   */
  readonly bodyBytesMax?: number
}

/** What is delegated to the next agent. */
export interface DelegationRequest {
  /** A part of the scope of this credential. */
  readonly scope: string | readonly string[]
  /** Never past the end of this credential. */
  readonly ttlSeconds: number
  /**
   * The next agent's key: the key pair if the agent runs in this process, otherwise the public key
   * as a `did:key`.
   */
  readonly holderKey: PrivateKey | string
  /** Whether the next agent may delegate in turn. */
  readonly delegable?: boolean
}

export interface Delegated<Fetch = AgentFetch | undefined> {
  readonly credential: JsonObject
  /** For the next agent, to the same origins. Undefined when only its public key is known here. */
  readonly fetch: Fetch
}

/** A `fetch` that presents a credential. Its properties contain no secret. */
export interface AgentFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>
  readonly credentialId: string
  readonly siteId: string
  readonly scope: readonly string[]
  readonly expiresAtMs: number
  /**
   * Delegates a narrower credential to another agent, without a call to the service. Throws a
   * TypeError for what no verifier would accept: more scope, a longer lifetime, a credential that
   * is not bound or not delegable.
   */
  delegate(to: DelegationRequest & { readonly holderKey: PrivateKey }): Promise<Delegated<AgentFetch>>
  delegate(to: DelegationRequest): Promise<Delegated>
}

const KINDS: OptionKinds<AgentFetchOptions> = {
  credential: 'object',
  holderKey: 'object',
  origins: 'strings',
  exchange: 'object',
  onUnlisted: 'function',
  fetch: 'function',
  nowMs: 'function',
  redirectsMax: 'number',
  bodyBytesMax: 'number',
}
const DELEGATION_KINDS: OptionKinds<DelegationRequest> = {
  scope: 'strings',
  ttlSeconds: 'number',
  holderKey: 'any',
  delegable: 'boolean',
}
/** How many origins are warned about at most. */
const WARNED_MAX = 16
const REDIRECTS_MAX = 5
const BODY_BYTES_MAX = 10 * 1024 * 1024
/**
 * A verifier that has just started rejects proofs for three seconds, since the process before it
 * may have seen them.
 */
const PROOF_WAITS_MS = [1000, 2000]
const PROOF_REJECTED = /^proof_(?:invalid|replayed)$/

/**
 * A `fetch` for agents. It sends the credential to the allowed origins only, signs each request
 * when the credential is bound (RFC 9421, with a fresh nonce each time), and follows a redirect
 * with it only within the same origin. A redirect to another origin is followed without the
 * credential, cookies and authorization if it is a GET or HEAD, and returned to the caller
 * otherwise; later redirects stay without them too. A request whose proof is rejected is signed and
 * sent again, twice within three seconds; nothing else is sent twice.
 *
 * Throws a TypeError for options that cannot work, such as a bound credential without its key.
 * Neither a URL nor a message ever contains the credential.
 */
export function agentFetch(options: AgentFetchOptions): AgentFetch {
  requireOptions('agentFetch', options, KINDS)
  const { holderKey, nowMs = Date.now, redirectsMax = REDIRECTS_MAX, bodyBytesMax = BODY_BYTES_MAX } = options
  const document = options.credential as JsonObject
  if (document === undefined) throw new TypeError('credential must be the credential as it was issued')
  const read = readCredentialObject(document)
  if (isDenial(read)) throw new TypeError(`this credential cannot be presented: ${read.detail}`)
  const { credential } = read
  const keyid = credential.holderKey
  if (keyid === undefined && holderKey !== undefined)
    throw new TypeError('the credential is not bound to a key; leave holderKey out')
  if (keyid !== undefined && holderKey === undefined)
    throw new TypeError('the credential is bound to a key; give its holderKey')
  if (holderKey !== undefined && didKey(holderKey.publicKey) !== keyid)
    throw new TypeError('holderKey is not the key of this credential')
  const origins = readOrigins(options.origins, options[PLAIN_HTTP] === true)
  const warned = new Set<string>()
  const header = credentialHeader(document)
  const send = (url: string, init: RequestInit) => (options.fetch ?? globalThis.fetch)(url, init)
  const tokens =
    options.exchange &&
    createAccessTokens(
      { nowMs, ...(options.fetch && { fetch: options.fetch }), ...options.exchange },
      document,
      holderKey,
    )

  /** One request to an allowed origin, as it goes out. */
  const present = async (outgoing: Outgoing, token: string | undefined): Promise<Response> => {
    const headers = new Headers(outgoing.headers)
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    else headers.set(CREDENTIAL_HEADER, header)
    if (token === undefined && holderKey !== undefined) {
      const body = outgoing.body ?? 'none'
      const proof = await signRequest(holderRequestFrom(outgoing.method, outgoing.url, headers, body), {
        key: holderKey,
        nowMs: nowMs(),
      })
      for (const [name, value] of Object.entries(proof)) headers.set(name, value)
    }
    return send(outgoing.url, toRequestInit(outgoing, headers))
  }

  const presentCredential = async (outgoing: Outgoing): Promise<Response> => {
    for (const waitMs of holderKey === undefined ? [] : PROOF_WAITS_MS) {
      const response = await present(outgoing, undefined)
      if (response.status !== 401 || !PROOF_REJECTED.test((await readDenial(response))?.code ?? ''))
        return response
      await response.body?.cancel()
      await sleep(waitMs, outgoing.rest.signal ?? undefined)
    }
    return present(outgoing, undefined)
  }

  const presentToken = async (outgoing: Outgoing, from: AccessTokens): Promise<Response> => {
    const token = await from.current()
    const response = await present(outgoing, token)
    if (response.status !== 401 || (await readDenial(response))?.code !== 'token_invalid') return response
    // The token was revoked, or the service was restored. Tried once more with a new token; if that
    // is rejected too, the caller gets the response.
    await response.body?.cancel()
    from.drop(token)
    return present(outgoing, await from.current())
  }

  const fetchUnlisted = async (
    origin: string,
    input: string | URL | Request,
    init: RequestInit,
  ): Promise<Response> => {
    options.onUnlisted?.(origin)
    const response = await (options.fetch ?? globalThis.fetch)(input, init)
    if (
      options.onUnlisted === undefined &&
      response.status === 401 &&
      !warned.has(origin) &&
      warned.size < WARNED_MAX
    ) {
      const isMissed = (await readDenial(response))?.code === 'credential_missing'
      if (isMissed) {
        warned.add(origin)
        console.warn(
          `agentFetch sent no credential to ${origin}, which asks for one: origins lists ${[...origins].join(', ')}`,
        )
      }
    }
    return response
  }

  const fetchAsAgent = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    // Before the body is read: requests to other origins are passed on unchanged.
    const origin = toOrigin(input)
    if (!origins.has(origin)) return fetchUnlisted(origin, input, init)
    const first = await readOutgoing(input, init, bodyBytesMax)
    let outgoing = first
    let isWithoutCredential = false
    for (let hops = 0; ; hops++) {
      const response = isWithoutCredential
        ? await send(outgoing.url, toRequestInit(outgoing, outgoing.headers))
        : await (tokens === undefined ? presentCredential(outgoing) : presentToken(outgoing, tokens))
      if (first.redirect === 'manual') return response
      const next = nextHop(response, outgoing)
      if (next === undefined) return response
      await response.body?.cancel()
      if (first.redirect === 'error')
        throw new TypeError('the response is a redirect, and redirect is "error"')
      if (hops >= redirectsMax) throw new TypeError(`more than ${redirectsMax} redirects`)
      isWithoutCredential ||= next.isOtherOrigin
      outgoing = { ...outgoing, ...next.request }
    }
  }

  const delegate = async (to: DelegationRequest): Promise<Delegated> => {
    requireOptions('delegate', to, DELEGATION_KINDS)
    const { ttlSeconds, holderKey: next, delegable = false } = to
    const scope = typeof to.scope === 'string' ? [to.scope] : to.scope
    if (holderKey === undefined)
      throw new TypeError('only a credential that is bound to a key can be delegated')
    if (!(ttlSeconds > 0)) throw new TypeError('ttlSeconds must be more than 0')
    if (next === undefined) throw new TypeError('holderKey must be the key of the next agent, or its did:key')
    if (scope === undefined) throw new TypeError('scope must name what is delegated')
    const now = nowMs()
    const nextDid = typeof next === 'string' ? next : didKey(next.publicKey)
    const credentialId = `cred_${encodeBase64url(globalThis.crypto.getRandomValues(new Uint8Array(16)))}`
    const grant = {
      credentialId,
      scope,
      holderKey: nextDid,
      delegable,
      validFromMs: now,
      validUntilMs: now + ttlSeconds * 1000,
    }
    const child = await delegateCredential(document, grant, { key: holderKey, createdMs: now })
    if (typeof next === 'string') return { credential: child, fetch: undefined }
    // Tokens of the child are exchanged with its own scope.
    const { scope: _scope, ...exchange } = options.exchange ?? {}
    const inherited =
      options.exchange === undefined ? options : { ...options, exchange: exchange as ExchangeOptions }
    return { credential: child, fetch: agentFetch({ ...inherited, credential: child, holderKey: next }) }
  }

  const { id: credentialId, site: siteId, scope, validUntilMs: expiresAtMs } = credential
  return Object.assign(fetchAsAgent, { credentialId, siteId, scope, expiresAtMs, delegate }) as AgentFetch
}
