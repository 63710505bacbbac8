import { decodeBase64url, encodeBase64url } from '@countersign/core'
import { joinBytes } from '../shared/bounded-body.ts'
import { requireOptions } from '../shared/require-options.ts'
import { type PendingSignIn, toSearchParams } from './sign-in.ts'

export interface SignInCookiesOptions {
  /**
   * At least 32 characters, the same in every process of the site. The site's API key can be used:
   * the key that encrypts the cookies is derived from it.
   */
  readonly secret: string
  /**
   * Whether browsers reach the site over https. Default: true. Set it to false only for development
   * on http://localhost.
   */
  readonly secure?: boolean
}

/**
 * Keeps pending sign-ins in the browser that started them, so that several tabs can sign in at the
 * same time.
 */
export interface SignInCookies {
  /**
   * The `Set-Cookie` values to send with the redirect to `authUrl`. `cookieHeader` is the `Cookie`
   * header of the request: when too many sign-ins are pending in this browser, the oldest is
   * dropped.
   */
  keep(pending: PendingSignIn, cookieHeader: string | null | undefined): Promise<readonly string[]>
  /**
   * The pending sign-in that a callback belongs to, for `finishSignIn`, and the `Set-Cookie` values
   * that forget it: send them whatever the outcome is. `pending` is undefined when this browser did
   * not start the sign-in, or its cookie was changed; `finishSignIn` then throws `state_mismatch`.
   */
  take(
    callback: string | URL | URLSearchParams,
    cookieHeader: string | null | undefined,
  ): Promise<TakenSignIn>
}

export interface TakenSignIn {
  readonly pending: PendingSignIn | undefined
  readonly setCookie: readonly string[]
}

/** Enough for several tabs, and few enough for the header limits of web servers. */
const PENDING_MAX = 5
/** Browsers drop a cookie of more than 4096 bytes silently. */
const COOKIE_CHARS_MAX = 4000
/**
 * Of all pending sign-ins together: web servers reject long headers, often from 8192 bytes on, and
 * would reject every request of this browser.
 */
const ALL_CHARS_MAX = 6000
const SECRET_CHARS_MIN = 32
const IV_BYTES = 12
const NAME = 'countersign-pending-'
const STATE = /^[A-Za-z0-9_-]{43}$/

/**
 * Creates the helper. Each pending sign-in is one cookie, named after its state, encrypted and
 * authenticated with AES-256-GCM, HttpOnly, SameSite=Lax, and with `Secure` and the prefix
 * `__Host-` unless `secure` is false. The server stores nothing. Throws a TypeError for a secret
 * that is too short, and for options that are unknown or of the wrong kind.
 */
export function createSignInCookies(options: SignInCookiesOptions): SignInCookies {
  requireOptions<SignInCookiesOptions>('createSignInCookies', options, {
    secret: 'string',
    secure: 'boolean',
  })
  const { secret, secure = true } = options
  if (typeof secret !== 'string' || secret.length < SECRET_CHARS_MIN)
    throw new TypeError(`secret must be a string of at least ${SECRET_CHARS_MIN} characters`)
  const prefix = (secure ? '__Host-' : '') + NAME
  const key = keyFrom(secret)
  // Reported by the call that uses the key.
  key.catch(() => undefined)
  const cookie = (state: string, value: string, seconds: number) =>
    `${prefix}${state}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`

  return {
    async keep(pending, cookieHeader) {
      const value = await seal(JSON.stringify(pending), prefix + pending.state, await key)
      const seconds = Math.max(1, Math.ceil((pending.expiresAtMs - Date.now()) / 1000))
      const kept = cookie(pending.state, value, seconds)
      if (kept.length > COOKIE_CHARS_MAX)
        throw new RangeError(
          `The pending sign-in needs a cookie of ${kept.length} bytes, and browsers keep at most 4096. Request fewer scopes, or keep pending in your own session store.`,
        )
      // Browsers send the oldest cookie first (RFC 6265 §5.4).
      const others = pairsIn(cookieHeader, prefix).filter(([state]) => state !== pending.state)
      let chars = value.length
      const forgotten = others
        .toReversed()
        .filter(([, other], i) => {
          chars += other.length
          return i >= PENDING_MAX - 1 || chars > ALL_CHARS_MAX
        })
        .map(([state]) => state)
      return [...forgotten.map((state) => cookie(state, '', 0)), kept]
    },

    async take(callback, cookieHeader) {
      const [state, more] = toSearchParams(callback).getAll('state')
      const [found, other] = pairsIn(cookieHeader, prefix).filter(([name]) => name === state)
      if (state === undefined || more !== undefined || found === undefined)
        return { pending: undefined, setCookie: [] }
      // Two cookies of one name: another host of the domain has set one of them, and it is not
      // known which.
      const text = other === undefined ? await open(found[1], prefix + state, await key) : undefined
      return {
        pending: text === undefined ? undefined : (JSON.parse(text) as PendingSignIn),
        setCookie: [cookie(state, '', 0)],
      }
    },
  }
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>

async function keyFrom(secret: string): Promise<Key> {
  const material = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), 'HKDF', false, [
    'deriveKey',
  ])
  const derivation = {
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(0),
    info: new TextEncoder().encode('countersign sign-in cookie'),
  }
  return crypto.subtle.deriveKey(derivation, material, { name: 'AES-GCM', length: 256 }, false, [
    'encrypt',
    'decrypt',
  ])
}

/** The name is authenticated too: the value of one cookie is invalid in another. */
async function seal(text: string, name: string, key: Key): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
  const additionalData = new TextEncoder().encode(name)
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv, additionalData },
    key,
    new TextEncoder().encode(text),
  )
  return encodeBase64url(joinBytes([iv, new Uint8Array(sealed)]))
}

/** Undefined for a value that was not sealed with this key under this name. */
async function open(value: string, name: string, key: Key): Promise<string | undefined> {
  const bytes = decodeBase64url(value)
  if (bytes === undefined) return undefined
  const [iv, sealed] = [
    Uint8Array.from(bytes.subarray(0, IV_BYTES)),
    Uint8Array.from(bytes.subarray(IV_BYTES)),
  ]
  const additionalData = new TextEncoder().encode(name)
  try {
    return new TextDecoder().decode(
      await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, key, sealed),
    )
  } catch {
    return undefined
  }
}

/** State and value of every cookie that is named after a state. */
function pairsIn(
  cookieHeader: string | null | undefined,
  prefix: string,
): readonly (readonly [state: string, value: string])[] {
  return (cookieHeader ?? '').split(';').flatMap((pair) => {
    const [name = '', value = ''] = pair.trim().split('=', 2)
    const state = name.startsWith(prefix) ? name.slice(prefix.length) : ''
    return STATE.test(state) ? [[state, value] as const] : []
  })
}
