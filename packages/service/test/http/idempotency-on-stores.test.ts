import { randomBytes } from 'node:crypto'
import { type EndpointId, endpoints } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { RouteAnswer } from '../../src/answer.ts'
import { answerOnce } from '../../src/http/idempotency.ts'
import type { RawRequest } from '../../src/http/raw-request.ts'
import type { MountedEndpoint } from '../../src/http/respond.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import type { Store } from '../../src/store/store.ts'
import { withoutHandOver } from '../log/without-hand-over.ts'
import { begin, keyOf, openNode, type TestNode } from '../node.ts'
import { forEachSharedStore } from '../stores.ts'

const keys = createSealer(randomBytes(32))
const run = <T>(wait: () => Promise<T>) => wait()

/** The request of a site's key at that node, under the idempotency key `once`. */
function once(node: TestNode, id: EndpointId, answer: () => Promise<RouteAnswer>, params: object = {}) {
  const lines = (name: string) => (name === 'idempotency-key' ? ['once'] : undefined)
  const raw = { method: 'POST', path: endpoints[id].path, query: '', lines } as unknown as RawRequest
  const endpoint = { ...endpoints[id], id } as unknown as MountedEndpoint
  const deps = { ...node.deps, keys } as unknown as Parameters<typeof answerOnce>[1]
  const caller = keyOf(node.home)
  const checks = { requireReadable: () => {}, requireSameCaller: async () => {}, waitOutside: run }
  return answerOnce({ raw, endpoint, params, caller, body: new Uint8Array(), ...checks }, deps, answer)
}

forEachSharedStore('an idempotency key', (open) => {
  it('gets no answer from another node before that node denies as well (I-1)', async () => {
    withoutHandOver()
    const { node, store, A, issued } = await begin(open())
    const deaf = Object.create(store) as Store
    let isDeaf = false
    let heard: Awaited<ReturnType<Store['entriesAfter']>> | undefined
    // What it was told last, over and over.
    deaf.entriesAfter = async (position, limit) => {
      if (!isDeaf || heard === undefined) heard = await store.entriesAfter(position, limit)
      const entries = heard.entries.filter((each) => each.position > position)
      return { ...heard, entries }
    }
    const other = await openNode(deaf, A, { waitMsMax: 300 })
    const { ppid, header } = await issued()
    expect((await other.context(header)).status).toBe(200)
    isDeaf = true
    const revoke = async (): Promise<RouteAnswer> => {
      const { status, body } = await node.revokeUser(ppid)
      return { status, body }
    }
    const first = await once(node, 'revoke_user', revoke)
    expect(first.status).toBe(200)

    const again = () => once(other, 'revoke_user', () => Promise.reject(new Error('must not run twice')))
    await expect(again()).rejects.toMatchObject({ code: 'revocation_view_stale' })
    // It has not heard of it, and has not said that it had.
    expect((await other.context(header)).status).toBe(200)
    isDeaf = false
    expect(await again()).toEqual(first)
    expect((await other.context(header)).code).toBe('credential_revoked')
  })

  it('may be used with a path as long as a URL may be', async () => {
    const { node } = await begin(open())
    const params = { site_id: randomBytes(4000).toString('hex') }
    const answer = { status: 200, body: { made: 1 } }
    expect(await once(node, 'change_issuer', async () => answer, params)).toEqual(answer)
    expect(
      await once(node, 'change_issuer', () => Promise.reject(new Error('must not run twice')), params),
    ).toEqual(answer)
  })
})
