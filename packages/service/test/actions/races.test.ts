import { expect, it } from 'vitest'
import { begin as beginAt, openNode, type TestNode, type Told } from '../node.ts'
import { delegated, newParty } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'

/** How many interleavings; ten thousand by command: `COUNTERSIGN_RACES=10000`. */
const RACES = Number(process.env.COUNTERSIGN_RACES ?? 200)
const AT_ONCE = 20

/** Waits for some turns of the event loop, so that two walks meet at different places each time. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await (i % 3 === 0 ? new Promise(setImmediate) : Promise.resolve())
}

const some = (below: number) => Math.floor(Math.random() * below)

forEachSharedStore('races', (open) => {
  it(`exchange against revocation, ${RACES} interleavings: no live token of a revoked credential`, {
    tags: 'long',
  }, async () => {
    const { node, store, A, issued } = await beginAt(open())
    const other = await openNode(store, A)
    const outcomes = new Set<string>()

    const race = async () => {
      const [one, two] = [await newParty(), await newParty()]
      const root = await issued({ holderKey: one.did, delegable: true })
      const child = await delegated(root, one, two)
      const plain = await issued()
      const revocations: ((n: TestNode) => Promise<Told>)[] = [
        (n) => n.revokeUser(plain.ppid),
        (n) => n.revokeCredential(plain.id),
        (n) => n.revokeCredential(root.id),
      ]
      const which = some(revocations.length)
      const exchange = async () => {
        await turns(some(12))
        return which === 2
          ? node.exchange(child.document, {}, { holder: two })
          : node.exchange(plain.document)
      }
      const revoke = async () => {
        await turns(some(12))
        return revocations[which]?.(some(2) === 0 ? node : other)
      }
      const [exchanged, revoked] = await Promise.all([exchange(), revoke()])
      expect(revoked?.status).toBe(200)
      outcomes.add(exchanged.code ?? 'token')
      if (exchanged.status !== 200) return expect(exchanged.code).toBe('credential_revoked')
      const token = exchanged.body.access_token
      await other.deps.views.waitFor(await store.logPosition())
      await node.deps.views.waitFor(await store.logPosition())
      for (const n of [node, other]) {
        expect((await n.bearer(token)).code).toBe('token_invalid')
        expect((await n.introspect(token)).body).toEqual({ active: false })
      }
    }
    for (let done = 0; done < RACES; done += AT_ONCE) await Promise.all([...Array(AT_ONCE)].map(race))
    expect(outcomes).toEqual(new Set(['token', 'credential_revoked']))
  })

  it('I-1: once a revocation is acknowledged, nothing more is accepted on that node, not even what was on its way', {
    tags: 'long',
  }, async () => {
    const { node, issued } = await beginAt(open())
    let letIn = 0
    for (let round = 0; round < 20; round++) {
      const holder = await newParty()
      const { header, id, ppid, document } = await issued(round % 2 ? { holderKey: holder.did } : {})
      const bound = round % 2 ? { holder } : {}
      const token = await node.tokenFor(document, {}, bound)
      let isAcknowledged = false
      const late: string[] = []
      const walkers = [...Array(8)].map(async (_, i) => {
        for (let n = 0; n < 40 && !(isAcknowledged && n > 3); n++) {
          const { status } = i % 2 ? await node.context(header, bound) : await node.bearer(token)
          if (status === 200) letIn++
          if (status === 200 && isAcknowledged) late.push(i % 2 ? 'credential' : 'bearer')
        }
      })
      await turns(some(20))
      await (round % 4 < 2 ? node.revokeCredential(id) : node.revokeUser(ppid))
      isAcknowledged = true
      await Promise.all(walkers)
      expect(late).toEqual([])
    }
    expect(letIn).toBeGreaterThan(0)
  })

  it('a token that was made while bearer was being switched off stays dead when it is on again', async () => {
    const { node, store, A, issued } = await beginAt(open())
    const { document } = await issued()
    const context = () => ({ actor: 'operator', atMs: node.clock.nowMs(), requestId: undefined })
    const asked = context()
    node.clock.pass(5)
    const token = await node.tokenFor(document)
    for (const [bearer, by] of [['off', asked] as const, ['on', undefined] as const]) {
      node.clock.pass(500)
      await store.changeSite(A, { bearer }, by ?? context())
      await node.deps.views.waitFor(await store.logPosition())
    }
    expect((await node.bearer(token)).code).toBe('token_invalid')
    node.clock.pass(5)
    expect((await node.bearer(await node.tokenFor(document))).status).toBe(200)
  })

  it('I-17: the same revocation many times at once, on two nodes, is one entry and one answer', async () => {
    const { node, store, A, issued } = await beginAt(open())
    const other = await openNode(store, A)
    const { ppid, document } = await issued()
    await node.tokenFor(document)
    const position = await store.logPosition()
    const answers = await Promise.all([...Array(40)].map((_, i) => (i % 2 ? node : other).revokeUser(ppid)))
    expect(await store.logPosition()).toBe(position + 1)
    expect(answers.filter(({ body }) => body.already_revoked === false)).toHaveLength(1)
    const texts = answers.map(({ body }) => JSON.stringify(body).replaceAll(/"already_revoked":\w+/g, ''))
    expect(new Set(texts).size).toBe(1)
  })
})
