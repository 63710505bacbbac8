import type { SiteId } from '@countersign/core'
import type { Response } from 'light-my-request'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey } from '../../../../src/actions/api-keys.ts'
import { readKeySet } from '../../../../src/keys/oauth-keys.ts'
import { createPng } from '../../../brand/pictures.ts'
import {
  addPerson,
  auditOf,
  type Browser,
  type ConsoleNode,
  openConsoleNode,
  outcome,
  SHOP,
  signIn,
} from '../../../console/console-node.ts'
import { newJwk } from '../../../jwks.ts'
import { newParty } from '../../../party.ts'
import { forEachStoreWriter } from '../../../store/store-writer.ts'

const AUDIENCE = ['https://api.shop.example']
const PATH = `/api/sites/${SHOP}`
const LOGO_URL = 'https://cdn.example/logo.png'

let made = 0
const newHost = () => `host-${++made}.example`

interface Change {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly body: object
  /** The row that the audit has afterwards. */
  readonly action: string
  /** At that site. */
  readonly siteId?: SiteId
}

/** Changes that wait for a host which their caller has chosen. */
const changes: readonly (readonly [string, (node: ConsoleNode) => Promise<Change>])[] = [
  [
    'add_issuer of a did:web',
    async () => ({
      method: 'POST',
      path: `${PATH}/issuers`,
      body: { issuer: `did:web:${newHost()}` },
      action: 'issuer.add',
    }),
  ],
  [
    'add_issuer of type oauth',
    async () => ({
      method: 'POST',
      path: `${PATH}/issuers`,
      body: { type: 'oauth', issuer: `https://${newHost()}`, audience: AUDIENCE },
      action: 'issuer.add',
    }),
  ],
  [
    'change_issuer with another jwks_uri',
    async (node) => ({
      method: 'PATCH',
      path: `${PATH}/issuers/${await addOAuthIssuer(node)}`,
      body: { jwks_uri: `https://${newHost()}/keys` },
      action: 'issuer.change',
    }),
  ],
  [
    'change_issuer that trusts a did:web again',
    async (node) => ({
      method: 'PATCH',
      path: `${PATH}/issuers/${await addDistrusted(node)}`,
      body: { status: 'trusted' },
      action: 'issuer.change',
    }),
  ],
  [
    'change_site with a logo',
    async () => ({
      method: 'PATCH',
      path: PATH,
      body: { logo_url: LOGO_URL, return_urls: [`https://${newHost()}/callback`] },
      action: 'site.change',
    }),
  ],
]

const createSite: readonly [string, () => Promise<Change>] = [
  'create_site with a logo',
  async () => {
    const siteId = newHost() as SiteId
    const body = { site_id: siteId, logo_url: LOGO_URL }
    return { method: 'POST', path: '/api/sites', body, action: 'site.create', siteId }
  },
]

const asOperator = (node: ConsoleNode, method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
  node.send(path, { method, ...(body && { body }), headers: { 'x-api-key': node.operatorKey } })

async function addOAuthIssuer(node: ConsoleNode): Promise<string> {
  const body = {
    type: 'oauth',
    issuer: `https://${newHost()}`,
    audience: AUDIENCE,
    jwks: { keys: [newJwk('EC')] },
  }
  const answer = await asOperator(node, 'POST', `${PATH}/issuers`, body)
  expect(answer.statusCode).toBe(201)
  return answer.json().issuer_id
}

async function addDistrusted(node: ConsoleNode): Promise<string> {
  const added = await asOperator(node, 'POST', `${PATH}/issuers`, { issuer: `did:web:${newHost()}` })
  const { issuer_id } = added.json()
  const changed = await asOperator(node, 'PATCH', `${PATH}/issuers/${issuer_id}`, { status: 'distrusted' })
  expect(changed.statusCode).toBe(200)
  return issuer_id
}

/** The next fetch begins, and gets its answer only after `release`. */
interface Held {
  readonly begun: Promise<void>
  release(): void
}

forEachStoreWriter('callers that end while a chosen host is asked', (newWriter) => {
  let node: ConsoleNode
  let held: { begin: () => void; readonly released: Promise<void> } | undefined

  const wait = async () => {
    const mine = held
    held = undefined
    mine?.begin()
    await mine?.released
  }
  const hold = (): Held => {
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    held = { begin: begun.resolve, released: released.promise }
    return { begun: begun.promise, release: released.resolve }
  }

  beforeAll(async () => {
    node = await openConsoleNode(await newWriter(), {
      COUNTERSIGN_OVERLOAD_IN_FLIGHT_MAX: '1',
      COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
    })
    const { key } = await newParty()
    const [set, bytes] = [await readKeySet({ keys: [newJwk('EC')] }), createPng()]
    const logo = { url: LOGO_URL, sha256: 'a'.repeat(64), type: 'image/png', bytes }
    const answers = {
      didWeb: { keys: [{ id: 'key-1', key: key.publicKey }], leftOut: [] },
      keySets: set,
      logos: logo,
    }
    const toFetcher = (answer: unknown) => ({ fetch: () => wait().then(() => answer) })
    Object.assign(
      node.service.deps,
      Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, toFetcher(answer)])),
    )
  })
  afterAll(() => node.close())

  const newKey = async (siteId: typeof SHOP | null) => {
    const { deps } = node.service
    const context = { actor: 'operator', atMs: deps.clock.nowMs(), requestId: undefined }
    const permissions = siteId === null ? [] : (['site:admin'] as const)
    const order = { siteId, permissions, label: undefined, expiresInSeconds: undefined }
    const { key, secret } = await createApiKey(deps, order, context)
    const path = siteId === null ? '/api/service/operator-keys' : `${PATH}/keys`
    return {
      send: ({ method, path: to, body }: Change) =>
        node.send(to, { method, body, headers: { 'x-api-key': secret } }),
      end: () => asOperator(node, 'DELETE', `${path}/${key.keyId}`),
    }
  }
  const listAudit = async ({ action, siteId = SHOP }: Change) =>
    (await auditOf(node, siteId)).filter((row) => row.action === action)
  const changePerson = ({ personId }: Browser, body: object) =>
    asOperator(node, 'PATCH', `/api/people/${personId}`, body)
  const newAdmin = async () => signIn(node, await addPerson(node, [{ siteId: SHOP, role: 'admin' }]))

  /** What comes of a change while `meanwhile` happens during its fetch. */
  const interleave = async (
    change: Change,
    send: (change: Change) => Promise<Response>,
    meanwhile: () => Promise<unknown>,
  ) => {
    const state = async () =>
      JSON.stringify([await node.service.deps.store.logPosition(), await listAudit(change)])
    const { begun, release } = hold()
    const sent = send(change)
    await begun
    let before: string
    try {
      await meanwhile()
      before = await state()
    } finally {
      release()
    }
    const answer = await sent
    return { answer, isUnchanged: (await state()) === before }
  }

  describe.each([...changes.map((each) => [...each, SHOP] as const), [...createSite, null] as const])(
    '%s',
    (_name, toChange, siteId) => {
      it('changes nothing once the API key is deleted (A148)', async () => {
        const key = await newKey(siteId)
        const { answer, isUnchanged } = await interleave(await toChange(node), key.send, async () => {
          expect((await key.end()).statusCode).toBe(204)
        })
        expect(outcome(answer)).toEqual([401, 'api_key_invalid'])
        expect(isUnchanged).toBe(true)
      })

      it('control: with the key, it is done, at the time after the wait', async () => {
        const key = await newKey(siteId)
        const change = await toChange(node)
        const { clock } = node.service.deps
        let sinceMs = 0
        const { answer } = await interleave(change, key.send, async () => {
          const startedMs = clock.nowMs()
          await expect.poll(() => clock.nowMs(), { interval: 1 }).toBeGreaterThan(startedMs)
          sinceMs = clock.nowMs()
        })
        expect(answer.statusCode).toBeLessThan(300)
        expect((await listAudit(change))[0]?.context.atMs).toBeGreaterThanOrEqual(sinceMs)
      })
    },
  )

  describe.each(changes)('%s in the console', (_name, toChange) => {
    const sendAs = (browser: Browser) => (change: Change) =>
      browser.ask(`/console${change.path}`, { method: change.method, body: change.body })

    it('changes nothing once the person is ended (A303)', async () => {
      const admin = await newAdmin()
      const { answer, isUnchanged } = await interleave(await toChange(node), sendAs(admin), async () => {
        expect((await changePerson(admin, { status: 'ended' })).statusCode).toBe(200)
      })
      expect(outcome(answer)).toEqual([401, 'session_required'])
      expect(isUnchanged).toBe(true)
    })

    it('changes nothing once the person has a lower role (A303)', async () => {
      const admin = await newAdmin()
      const roles = [{ site_id: SHOP, role: 'viewer' }]
      const { answer, isUnchanged } = await interleave(await toChange(node), sendAs(admin), async () => {
        expect((await changePerson(admin, { roles })).statusCode).toBe(200)
      })
      expect(outcome(answer)).toEqual([403, 'role_insufficient'])
      expect(isUnchanged).toBe(true)
    })
  })

  it.each(changes)('%s does not take the place of a verification while it waits', async (_name, toChange) => {
    const key = await newKey(SHOP)
    await interleave(await toChange(node), key.send, async () => {
      const answer = await node.send('/api/auth/introspect', {
        method: 'POST',
        body: { token: 'x' },
        headers: { 'x-api-key': node.operatorKey },
      })
      expect(answer.statusCode).not.toBe(503)
    })
  })
})
