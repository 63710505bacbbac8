import { type NonceStore, parseSiteId, type SiteId } from '@countersign/core'
import { type GuardClock, systemClock } from '../feed/clock.ts'
import { type PLAIN_HTTP, readBaseUrl } from '../shared/base-url.ts'
import { findOptionFaults, type OptionKinds } from '../shared/require-options.ts'
import type { GuardState } from './state.ts'

/**
 * Accepts stale revocation data, as `{ [FAIL_OPEN]: true }`. A symbol, so that neither JSON nor the
 * environment can set it.
 */
export const FAIL_OPEN: unique symbol = /* @__PURE__ */ Symbol('countersign.failOpen')

export interface GuardOptions {
  /** Where the service is, for example `https://auth.example`. */
  readonly baseUrl: string
  readonly siteId: string
  /**
   * A key of the site with `feed:read`, and with `tokens:introspect` if bearer tokens are accepted.
   */
  readonly apiKey: string
  /**
   * How old the revocation data may become before the guard rejects everything, 1 to 3600. Default
   * 30. The signed heads of the site may state a smaller bound, which then applies.
   */
  readonly maxStalenessSeconds?: number
  /**
   * Pins: the feed keys to begin with. A value is a Multikey under its `kid`, or `sha256:` with the
   * hash of a Multikey under any name. `countersign doctor` prints two to paste, for the current
   * key and the next. The guard follows the signed chain of successions from there, and rejects
   * every other key. Default: the guard trusts the keys that discovery lists at first contact,
   * which is as secure as TLS.
   */
  readonly feedKeys?: Readonly<Record<string, string>>
  /**
   * Stores used holder proofs. Default: the memory of this process. That is not enough for several
   * processes, accepts proofs from clocks at most 2 s ahead, and rejects all proofs of the first
   * 3 s, because the process before this one may have seen them.
   */
  readonly nonceStore?: NonceStore
  /**
   * The name of this verifier in receipts and lists, 1 to 64 of `A-Z a-z 0-9 _ -`. Replicas may
   * share it: each guard also has its own instance id. Default: the instance id.
   */
  readonly verifierId?: string
  /**
   * The address that callers use, if the application sees another one: behind a proxy,
   * `https://api.example`, with a path prefix that the proxy removes. Needed for holder proofs
   * unless callers use the site's own name on port 80 or 443. A site with a loopback name also
   * accepts every loopback host. Only with this option does the guard compare the scheme of a DPoP
   * proof: without it, a proof for `http` is also valid for `https`, because a proxy may end TLS.
   */
  readonly publicOrigin?: string
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  readonly clock?: GuardClock
  /**
   * Called when `ready`, `connection`, `problem` or `carriedRevocations` has changed. Default: the
   * console shows problems and carried revocations.
   */
  readonly onStateChange?: (state: GuardState) => void
  readonly [FAIL_OPEN]?: true
  readonly [PLAIN_HTTP]?: true
}

export interface ReadGuardOptions {
  readonly baseUrl: string
  readonly siteId: SiteId
  readonly apiKey: string
  readonly ageMsMax: number
  readonly feedKeys: Readonly<Record<string, string>> | undefined
  readonly nonceStore: NonceStore | undefined
  readonly verifierId: string | undefined
  readonly instanceId: string
  readonly publicOrigin: URL | undefined
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly clock: GuardClock
  readonly onStateChange: ((state: GuardState) => void) | undefined
  readonly failsOpen: boolean
}

const VERIFIER_ID = /^[A-Za-z0-9_-]{1,64}$/
/** The form of an API key; the service decides whether it is valid. */
const API_KEY = /^svc_sk_[\x21-\x7e]{1,256}$/

const KINDS: OptionKinds<GuardOptions> = {
  baseUrl: 'string',
  siteId: 'string',
  apiKey: 'string',
  maxStalenessSeconds: 'number',
  feedKeys: 'object',
  nonceStore: 'object',
  verifierId: 'string',
  publicOrigin: 'string',
  fetch: 'function',
  clock: 'object',
  onStateChange: 'function',
}

/**
 * Throws one TypeError that names every invalid option. Its message does not repeat the API key.
 */
export function readGuardOptions(options: GuardOptions): ReadGuardOptions {
  const faults = [...findOptionFaults('createGuard', options, KINDS)]
  // With values of the wrong kind there is nothing more to read.
  if (faults.length > 0) throw wrongOptions(faults)
  const { maxStalenessSeconds = 30, verifierId, clock = systemClock, nonceStore } = options
  const read = <Value>(wrong: string, value: () => Value | undefined): Value => {
    try {
      const found = value()
      if (found !== undefined) return found
      faults.push(wrong)
    } catch (error) {
      faults.push((error as Error).message)
    }
    return undefined as Value
  }
  const found: ReadGuardOptions = {
    baseUrl: read('', () => readBaseUrl(options.baseUrl, options)),
    siteId: read('siteId must be a lower-case host name, such as shop.example', () =>
      parseSiteId(options.siteId),
    ),
    apiKey: read('apiKey must be an API key of the site, svc_sk_…', () =>
      typeof options.apiKey === 'string' && API_KEY.test(options.apiKey) ? options.apiKey : undefined,
    ),
    ageMsMax: read('maxStalenessSeconds must be from 1 to 3600', () =>
      maxStalenessSeconds >= 1 && maxStalenessSeconds <= 3600 ? maxStalenessSeconds * 1000 : undefined,
    ),
    feedKeys: options.feedKeys,
    nonceStore:
      nonceStore &&
      read('nonceStore must have a consume method', () =>
        typeof nonceStore.consume === 'function' ? nonceStore : undefined,
      ),
    verifierId:
      verifierId === undefined
        ? undefined
        : read('verifierId must be 1 to 64 of A-Z a-z 0-9 _ -', () =>
            VERIFIER_ID.test(verifierId) ? verifierId : undefined,
          ),
    instanceId: randomId(),
    publicOrigin:
      options.publicOrigin === undefined
        ? undefined
        : read('publicOrigin must be an http or https URL without query, fragment and user name', () =>
            readOrigin(options.publicOrigin),
          ),
    // Called as a function: some runtimes reject a fetch that is called as a method.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    clock: read('clock must have a read and an after method', () =>
      typeof clock.read === 'function' && typeof clock.after === 'function' ? clock : undefined,
    ),
    onStateChange: options.onStateChange,
    failsOpen: options[FAIL_OPEN] === true,
  }
  if (faults.length > 0) throw wrongOptions(faults)
  return found
}

function wrongOptions(faults: readonly string[]): TypeError {
  return new TypeError(`createGuard cannot create a guard from these options: ${faults.join('; ')}`)
}

function readOrigin(text: unknown): URL | undefined {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  const isPlain =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === ''
  return isPlain ? url : undefined
}

function randomId(): string {
  return globalThis.crypto.randomUUID()
}
