import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { begin as beginAt, keyOf, type TestNode, type Told } from '../node.ts'
import type { Made } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'

type Verb =
  | 'revokeUsers'
  | 'revokeCredential'
  | 'revokeToken'
  | 'reinstateUsers'
  | 'signOutUsers'
  | 'createToken'

interface Attempt {
  readonly verb: Verb
  ask(node: TestNode, credential: Made, token: string): Promise<Told>
}

const attempts: Attempt[] = [
  { verb: 'revokeUsers', ask: (node, { ppid }) => node.revokeUser(ppid) },
  { verb: 'revokeCredential', ask: (node, { id }) => node.revokeCredential(id) },
  { verb: 'revokeToken', ask: (node, _, token) => node.revokeToken(token) },
  { verb: 'reinstateUsers', ask: (node, { ppid }) => node.reinstate(ppid) },
  {
    verb: 'signOutUsers',
    ask: (node, { ppid }) =>
      node.ask('sign_out_user', { caller: keyOf(node.home), body: { site_id: node.home, ppid } }),
  },
  { verb: 'createToken', ask: (node, { document }) => node.exchange(document) },
]

forEachSharedStore('I-16: when the store fails', (open) => {
  const begin = async () => {
    const begun = await beginAt(open())
    const credential = await begun.issued()
    return { ...begun, credential, token: await begun.node.tokenFor(credential.document) }
  }
  const everything = async (node: TestNode, { header, id }: Made, token: string) => [
    (await node.context(header)).status,
    (await node.bearer(token)).status,
    (await node.introspect(token)).body.active,
    (await node.status(id)).body.statuses[id].status,
  ]

  describe.each(attempts)('at $verb', ({ verb, ask }) => {
    it('before it has done anything: 503, and all is as it was', async () => {
      const { node, store, credential, token } = await begin()
      const before = await everything(node, credential, token)
      const position = await store.logPosition()
      store[verb] = async () => {
        throw new StoreUnavailable('full')
      }
      const { status, code } = await ask(node, credential, token)
      expect([status, code]).toEqual([503, 'store_unavailable'])
      Reflect.deleteProperty(store, verb)
      expect(await store.logPosition()).toBe(position)
      expect(await everything(node, credential, token)).toEqual(before)
      expect((await ask(node, credential, token)).status).toBe(200)
    })

    it('after it has done everything, so that the outcome is unknown: 503, and asking again says what is', async () => {
      const { node, store, credential, token } = await begin()
      const original = (Object.getPrototypeOf(store) as Store)[verb] as (
        ...args: unknown[]
      ) => Promise<unknown>
      store[verb] = (async (...args: unknown[]) => {
        await original(...args)
        throw new StoreUnavailable('the answer was lost')
      }) as never
      expect((await ask(node, credential, token)).code).toBe('store_unavailable')
      Reflect.deleteProperty(store, verb)
      const { status, body } = await ask(node, credential, token)
      expect(status).toBe(200)
      if (verb === 'revokeUsers' || verb === 'revokeCredential') expect(body.already_revoked).toBe(true)
      if (verb === 'revokeToken') expect(body.revoked).toBe(false)
      if (verb.startsWith('revoke') || verb === 'signOutUsers')
        expect((await node.bearer(token)).code).toBe('token_invalid')
    })
  })

  it('at the look-up of a token or of credentials: 503, not "unknown"', async () => {
    const { node, store, issued } = await begin()
    const { document, id } = await issued()
    const token = await node.tokenFor(document)
    store.token = store.statuses = async () => {
      throw new StoreUnavailable('down')
    }
    for (const answer of [await node.bearer(token), await node.introspect(token), await node.status(id)]) {
      expect([answer.status, answer.code]).toEqual([503, 'store_unavailable'])
    }
  })
})
