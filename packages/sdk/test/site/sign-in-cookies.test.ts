import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { PendingSignIn } from '../../src/site/sign-in.ts'
import { createSignInCookies } from '../../src/site/sign-in-cookies.ts'

const SECRET = 'a secret of the site, long enough'
const cookies = createSignInCookies({ secret: SECRET })

function pendingSignIn(more: Partial<PendingSignIn> = {}): PendingSignIn {
  return {
    state: randomBytes(32).toString('base64url'),
    verifier: randomBytes(32).toString('base64url'),
    issuer: 'https://auth.example',
    siteId: 'shop.example',
    scope: ['orders:read'],
    expiresAtMs: Date.now() + 660_000,
    ...more,
  }
}

/** What a browser does with the cookies of one site. */
class Jar {
  readonly #cookies = new Map<string, string>()

  store(lines: readonly string[]): this {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/.test(line)) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return this
  }
  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
  get size(): number {
    return this.#cookies.size
  }
}

const toCallback = ({ state }: PendingSignIn) =>
  `https://shop.example/callback?code=c&state=${state}&iss=https%3A%2F%2Fauth.example`

describe('pending sign-ins in cookies', () => {
  test('A1: two that are pending at once both come back, each once', async () => {
    const [one, two] = [pendingSignIn(), pendingSignIn()]
    const jar = new Jar()
    jar.store(await cookies.keep(one, jar.header))
    jar.store(await cookies.keep(two, jar.header))
    for (const pending of [one, two]) {
      const taken = await cookies.take(toCallback(pending), jar.header)
      expect(taken.pending).toEqual(pending)
      jar.store(taken.setCookie)
      expect((await cookies.take(new URL(toCallback(pending)), jar.header)).pending).toBeUndefined()
    }
    expect(jar.size).toBe(0)
  })

  test('are for this browser only, last as long as the sign-in, and show nothing of the verifier', async () => {
    const pending = pendingSignIn()
    const [line = ''] = await cookies.keep(pending, undefined)
    expect(line).toMatch(
      /^__Host-countersign-pending-[\w-]{43}=[\w-]+; Path=\/; Max-Age=6[56]\d; HttpOnly; SameSite=Lax; Secure$/,
    )
    const [, value = ''] = /=([\w-]+)/.exec(line) ?? []
    expect(line + Buffer.from(value, 'base64url').toString('latin1')).not.toContain(pending.verifier)
    const [plain = ''] = await createSignInCookies({ secret: SECRET, secure: false }).keep(pending, null)
    expect(plain).toMatch(/^countersign-pending-/)
    expect(plain).not.toMatch(/Secure/)
  })

  test('of another browser, another state, another secret or a changed cookie are not taken', async () => {
    const [pending, other] = [pendingSignIn(), pendingSignIn()]
    const jar = new Jar()
      .store(await cookies.keep(pending, undefined))
      .store(await cookies.keep(other, undefined))
    const taken = async (callback: string, header: string | undefined, by = cookies) =>
      (await by.take(callback, header)).pending
    expect(await taken(toCallback(pending), jar.header)).toEqual(pending)
    expect(await taken(toCallback(pending), undefined)).toBeUndefined()
    expect(await taken(toCallback(pendingSignIn()), jar.header)).toBeUndefined()
    expect(await taken('https://shop.example/callback?code=c', jar.header)).toBeUndefined()
    expect(await taken(`${toCallback(pending)}&state=${other.state}`, jar.header)).toBeUndefined()
    expect(
      await taken(toCallback(pending), jar.header, createSignInCookies({ secret: `${SECRET}!` })),
    ).toBeUndefined()
    // A scope that was not asked for must not be slipped in, nor the value of one cookie be used as
    // another.
    const values = jar.header.split('; ').map((pair) => pair.split('='))
    const [[name = '', value = ''] = [], [, second = ''] = []] = values
    expect(await taken(toCallback(pending), `${name}=${second}`)).toBeUndefined()
    const changed = Buffer.from(value, 'base64url')
    changed[20] = (changed[20] ?? 0) ^ 1
    expect(await taken(toCallback(pending), `${name}=${changed.toString('base64url')}`)).toBeUndefined()
    expect(await taken(toCallback(pending), `${name}=`)).toBeUndefined()
    expect(await taken(toCallback(pending), `${name}=${value}; ${name}=${second}`)).toBeUndefined()
  })

  test('are at most five in a browser: the oldest is forgotten', async () => {
    const jar = new Jar()
    const all = Array.from({ length: 8 }, () => pendingSignIn())
    for (const pending of all) jar.store(await cookies.keep(pending, `theme=dark; ${jar.header}`))
    expect(jar.size).toBe(5)
    const taken = await Promise.all(
      all.map(async (pending) => (await cookies.take(toCallback(pending), jar.header)).pending),
    )
    expect(taken.map((one) => one !== undefined)).toEqual([false, false, false, true, true, true, true, true])
  })

  test('are fewer when they are large, so that no web server refuses the header', async () => {
    const jar = new Jar()
    const scope = Array.from({ length: 40 }, (_, i) => `some/quite/long/resource/number/${i}:read`)
    const all = Array.from({ length: 5 }, () => pendingSignIn({ scope }))
    for (const pending of all) jar.store(await cookies.keep(pending, jar.header))
    expect(jar.header.length).toBeLessThan(8192)
    expect((await cookies.take(toCallback(all[4] as PendingSignIn), jar.header)).pending).toEqual(all[4])
  })

  test('that no browser would keep are refused when they are made', async () => {
    const scope = Array.from({ length: 100 }, (_, i) => `some/quite/long/resource/number/${i}:read`)
    await expect(cookies.keep(pendingSignIn({ scope }), undefined)).rejects.toThrow(/fewer scopes/)
  })

  test('need a secret that deserves the name', () => {
    for (const secret of ['short', '', undefined])
      expect(() => createSignInCookies({ secret } as never)).toThrow(/at least 32/)
    expect(() => createSignInCookies({ secret: SECRET, secure: 'no' } as never)).toThrow(/secure must be/)
    expect(() => createSignInCookies({ secret: SECRET, secrue: false } as never)).toThrow(
      /secrue is not an option/,
    )
  })
})
