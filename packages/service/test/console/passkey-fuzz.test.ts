import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Response } from 'light-my-request'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRandom } from '../../../core/test/fuzz/random.ts'
import { forEachStoreWriter } from '../store/store-writer.ts'
import {
  addPerson,
  type Browser,
  type ConsoleNode,
  ORIGIN,
  openConsoleNode,
  outcome,
  SAME_ORIGIN,
  SHOP,
  signIn,
} from './console-node.ts'
import { alterAssertion, alterBody, alterCreated } from './passkey-mutants.ts'
import { type Ceremony, SoftwareAuthenticator } from './software-authenticator.ts'

/** `npm run fuzz-passkeys` tries 10,000 on each store. */
const COUNT = Number(process.env.FUZZ_PASSKEYS ?? 150)
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const RUN_MS_MAX = 600_000
/** Challenges are valid for some minutes, so each is used for as many tries only. */
const ROUND = 300

forEachStoreWriter('altered responses of passkeys', (newWriter) => {
  let node: ConsoleNode
  beforeAll(async () => {
    node = await openConsoleNode(await newWriter(), {
      COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '10000000/1',
      COUNTERSIGN_RATE_LIMIT_KEYLESS: '10000000/1',
      COUNTERSIGN_RATE_LIMIT_KEY: '10000000/1',
      // On a busy machine a request would be answered `overloaded`, without being read.
      COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
      COUNTERSIGN_OVERLOAD_ACCEPT_DELAY_MS_MAX: '60000',
    })
  })
  afterAll(() => node.close())

  const at = (challenge: string): Ceremony => ({ challenge, origin: ORIGIN, rpId: 'id.example' })
  const newBrowser = async () => signIn(node, await addPerson(node, [{ siteId: SHOP, role: 'viewer' }]))
  const post = ({ ask }: Browser, path: string, body?: object) =>
    ask(path, { method: 'POST', ...(body && { body }) })
  const challengeFor = async (browser: Browser, path: string): Promise<string> =>
    (await post(browser, path)).json().challenge
  const newCeremony = async (
    browser: Browser,
    authenticator = new SoftwareAuthenticator(browser.personId),
  ) => ({
    authenticator,
    made: authenticator.create(at(await challengeFor(browser, '/console/passkeys/challenge'))),
  })
  const add = (browser: Browser, made: object) =>
    post(browser, '/console/passkeys', { name: 'Laptop', ...made })
  const countPasskeys = async ({ ask }: Browser) => (await ask('/console/passkeys')).json().items.length
  const expectRejected = (answer: Response, codes: readonly string[], given: unknown) => {
    const [status, code] = outcome(answer)
    expect(codes, JSON.stringify(given)).toContain(code)
    expect(status === 400 || status === 422, `${status}`).toBe(true)
    expect(answer.headers['set-cookie']).toBeUndefined()
  }
  const BODY_CODES = ['validation_failed', 'passkey_invalid']
  const rounds = Array.from({ length: Math.ceil(COUNT / ROUND) }, (_, round) => ({
    random: createRandom(SEED * 1000 + round),
    count: Math.min(ROUND, COUNT - round * ROUND),
  }))

  it('A345: of a registration, nothing that was altered is accepted or stored; the unaltered one is, after all of them', {
    tags: 'long',
    timeout: RUN_MS_MAX,
  }, async () => {
    for (const { random, count } of rounds) {
      const browser = await newBrowser()
      const { made } = await newCeremony(browser)
      for (let n = 0; n < count; n++) {
        const altered = alterCreated(made, random)
        expectRejected(await add(browser, altered), ['passkey_invalid'], altered)
      }
      for (let n = 0; n < count / 10; n++) {
        const body = alterBody({ name: 'Laptop', ...made }, random)
        expectRejected(await post(browser, '/console/passkeys', body), BODY_CODES, body)
      }
      expect(await countPasskeys(browser)).toBe(0)
      expect(outcome(await add(browser, made))).toEqual([201, ''])
      expect(await countPasskeys(browser)).toBe(1)
    }
  })

  it('A346: of an assertion, nothing that was altered opens or confirms a session; the unaltered one does, after all of them', {
    tags: 'long',
    timeout: RUN_MS_MAX,
  }, async () => {
    for (const { random, count } of rounds) {
      const browser = await newBrowser()
      const { authenticator, made } = await newCeremony(browser)
      expect(outcome(await add(browser, made))).toEqual([201, ''])
      const ways = [
        ['/console/session/passkey', '/console/session/challenge', 201],
        // Last: it replaces the session of this browser.
        ['/console/session/step-up', '/console/session/step-up/challenge', 200],
      ] as const
      for (const [path, challengePath, status] of ways) {
        const assertion = authenticator.assert(at(await challengeFor(browser, challengePath)))
        const readState = async () => [
          (await browser.ask('/console/session')).json(),
          (await browser.ask('/console/passkeys')).json(),
        ]
        const before = await readState()
        for (let n = 0; n < count / 2; n++) {
          const altered = alterAssertion(assertion, random)
          expectRejected(await post(browser, path, altered), ['passkey_invalid'], altered)
        }
        for (let n = 0; n < count / 20; n++) {
          const body = alterBody({ ...assertion }, random)
          expectRejected(await post(browser, path, body), BODY_CODES, body)
        }
        expect(await readState()).toEqual(before)
        const sent = { method: 'POST', body: assertion } as const
        const good = await (path.endsWith('step-up')
          ? browser.ask(path, sent)
          : node.send(path, { ...sent, headers: SAME_ORIGIN }))
        expect(outcome(good)).toEqual([status, ''])
      }
    }
  })

  it('A347: a passkey whose public key is none is not stored', async () => {
    const browser = await newBrowser()
    const bad = [
      // No point of the curve: the last coordinate is another one.
      (authenticator: SoftwareAuthenticator) => {
        const jwk = authenticator.keys.publicKey.export({ format: 'jwk' })
        return { ...jwk, y: randomBytes(32).toString('base64url') }
      },
      () => ({ kty: 'EC', crv: 'P-256', x: '', y: '' }),
      () => ({
        kty: 'EC',
        crv: 'P-256',
        x: Buffer.alloc(32).toString('base64url'),
        y: Buffer.alloc(32).toString('base64url'),
      }),
      () => generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }),
    ]
    for (const toJwk of bad) {
      const authenticator = new SoftwareAuthenticator(browser.personId)
      const jwk = toJwk(authenticator)
      const spoiled = Object.assign(new SoftwareAuthenticator(browser.personId), {
        keys: { publicKey: { export: () => jwk } },
      }) as unknown as SoftwareAuthenticator
      const { made } = await newCeremony(browser, spoiled)
      expect(outcome(await add(browser, made)), JSON.stringify(jwk)).toEqual([400, 'passkey_invalid'])
    }
    expect(await countPasskeys(browser)).toBe(0)
    expect(outcome(await add(browser, (await newCeremony(browser)).made))).toEqual([201, ''])
  })
})
