import { generatePrivateKey } from '@countersign/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentFetch } from '../../src/agent/agent-fetch.ts'
import { createClient } from '../../src/client/client.ts'
import { createGuard } from '../../src/guard/guard.ts'
import { finishSignIn, startSignIn } from '../../src/site/sign-in.ts'
import { verifyWebhook } from '../../src/site/verify-webhook.ts'
import { createTestSite, type TestSite } from '../../src/testing/index.ts'

const BASE = { baseUrl: 'https://auth.example' }
const SECRET = `whsec_${btoa('x'.repeat(24))}`

describe('options', () => {
  let site: TestSite
  let calls: Readonly<Record<string, { readonly right: object; run(options: never): unknown }>>
  beforeAll(async () => {
    site = await createTestSite()
    const { credential, holderKey } = await site.issue({ delegable: true })
    const agent = agentFetch({ credential, holderKey: holderKey as never, origins: 'https://shop.example' })
    calls = {
      createGuard: { right: { ...BASE, siteId: 'shop.example', apiKey: 'svc_sk_x' }, run: createGuard },
      createClient: { right: BASE, run: createClient },
      agentFetch: { right: { credential, holderKey, origins: 'https://shop.example' }, run: agentFetch },
      exchange: {
        right: BASE,
        run: (exchange) =>
          agentFetch({
            credential,
            holderKey: holderKey as never,
            origins: 'https://shop.example',
            exchange,
          }),
      },
      delegate: {
        right: { scope: 'orders:read', ttlSeconds: 60, holderKey: await generatePrivateKey('Ed25519') },
        run: agent.delegate,
      },
      startSignIn: {
        right: { ...BASE, siteId: 'shop.example', returnUrl: 'https://shop.example/back' },
        run: startSignIn,
      },
      finishSignIn: { right: { ...BASE, callback: '/back', pending: undefined }, run: finishSignIn },
      verifyWebhook: { right: { secret: SECRET, headers: {}, body: '' }, run: verifyWebhook },
      'a call': { right: {}, run: (options) => createClient(BASE).listSites({}, options) },
      createTestSite: { right: {}, run: createTestSite },
      'site.guard': { right: {}, run: (options) => site.guard(options) },
      'site.issue': { right: {}, run: (options) => site.issue(options) },
    }
  })
  afterAll(() => site.close())

  const names = [
    'createGuard',
    'createClient',
    'agentFetch',
    'exchange',
    'delegate',
    'startSignIn',
    'finishSignIn',
    'verifyWebhook',
    'a call',
    'createTestSite',
    'site.guard',
    'site.issue',
  ]

  /** The message of the TypeError that these options cause, or what else happened. */
  const findFault = async (name: string, options: unknown): Promise<string> => {
    try {
      await calls[name]?.run(options as never)
      return 'accepted'
    } catch (error) {
      return error instanceof TypeError ? error.message : 'accepted'
    }
  }

  test.each(names)('%s names an option that it does not know', async (name) => {
    const message = await findFault(name, { ...calls[name]?.right, maxStaleness: 5 })
    expect(message).toMatch(/maxStaleness is not an option of .+, which has: /)
  })

  test.each(names.filter((name) => name !== 'site.guard'))(
    '%s says so when it gets no object',
    async (name) => {
      for (const wrong of [null, 'text', ['list'], 5])
        expect(await findFault(name, wrong)).toContain('must be an object')
    },
  )

  test.each(
    names.filter(
      (name) => !['exchange', 'a call', 'createTestSite', 'site.guard', 'site.issue'].includes(name),
    ),
  )('%s says so when it gets nothing', async (name) => {
    expect(await findFault(name, undefined)).toContain('must be an object')
    expect(await findFault(name, {})).not.toMatch(/Cannot (?:read|destructure)|is not a function/)
  })

  test.each([
    ['createGuard', { maxStalenessSeconds: '5' }, 'maxStalenessSeconds must be a number'],
    ['createGuard', { onStateChange: 'x' }, 'onStateChange must be a function'],
    ['createGuard', { nonceStore: {} }, 'nonceStore must have a consume method'],
    ['createGuard', { nonceStore: 'redis' }, 'nonceStore must be an object'],
    ['createGuard', { failOpen: true }, 'failOpen is not an option'],
    ['createGuard', { apiKey: 'hello' }, 'apiKey must be an API key of the site'],
    ['createGuard', { apiKey: '{"type":["VerifiableCredential"]}' }, 'apiKey must be an API key of the site'],
    ['createGuard', { fetch: {} }, 'fetch must be a function'],
    ['createClient', { apiKey: 5 }, 'apiKey must be a string'],
    ['createClient', { apiKey: 'eyJhbGciOi' }, 'apiKey must be svc_sk_'],
    ['createClient', { timeoutMs: '5' }, 'timeoutMs must be a number'],
    ['agentFetch', { origins: undefined }, 'origins must name at least one origin'],
    ['agentFetch', { origins: [5] }, 'origins must be a string or a list of strings'],
    ['agentFetch', { credential: 'eyJ' }, 'credential must be an object'],
    ['agentFetch', { credential: undefined }, 'credential must be the credential'],
    ['delegate', { scope: 5 }, 'scope must be a string or a list of strings'],
    ['delegate', { scope: undefined }, 'scope must name'],
    ['delegate', { ttlSeconds: '60' }, 'ttlSeconds must be a number'],
    ['delegate', { holderKey: undefined }, 'holderKey must be the key'],
    ['startSignIn', { scope: 'orders:read' }, 'scope must be a list of strings'],
    ['verifyWebhook', { secrets: 'whsec_' }, 'secrets must be a list of strings'],
    ['verifyWebhook', { headers: undefined }, 'headers must be'],
    ['a call', { waitSeconds: '5' }, 'waitSeconds must be a number'],
    ['createTestSite', { bearer: 'yes' }, 'bearer must be "on" or "off"'],
  ])('%s with %j says what is wrong', async (name, spoilt, words) => {
    expect(await findFault(name, { ...calls[name]?.right, ...spoilt })).toContain(words)
  })

  test('an option that is undefined is one that was left out, and one scope can be delegated as a string', async () => {
    expect(await findFault('createGuard', { ...calls.createGuard?.right, publicOrigin: undefined })).toBe(
      'accepted',
    )
    expect(await findFault('delegate', calls.delegate?.right)).toBe('accepted')
  })
})
