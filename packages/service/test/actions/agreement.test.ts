import fc from 'fast-check'
import { expect, it } from 'vitest'
import { begin as beginAt, type TestNode } from '../node.ts'
import { delegated, type Made, NOW, newParty, newPpid, type Party } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'

/**
 * A credential as its holder has it, with a token that was exchanged for it while that was
 * possible.
 */
interface Held {
  readonly credential: Made
  readonly holder: Party | undefined
  readonly token: string | undefined
}

const step = fc.record({
  verb: fc.constantFrom('user', 'credential', 'token', 'reinstate', 'issue', 'delegate'),
  which: fc.nat({ max: 30 }),
})

forEachSharedStore('I-10: status, introspection and verification', (open) => {
  it('agree about every credential after whatever has happened', { tags: 'long' }, async () => {
    const { node, issued, store, A } = await beginAt(open())
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const users = [newPpid(), newPpid()]
        const held: Held[] = []
        const hold = async (credential: Made, holder?: Party) => {
          const { status, body } = await node.exchange(credential.document, {}, holder ? { holder } : {})
          held.push({ credential, holder, token: status === 200 ? body.access_token : undefined })
        }
        const newRoot = async (which: number, createdMs: number) => {
          const holder = await newParty()
          await hold(
            await issued({
              ppid: users[which % 2] as string,
              holderKey: holder.did,
              delegable: true,
              createdMs,
              validFromMs: NOW - 60_000,
            }),
            holder,
          )
        }
        await newRoot(0, NOW - 1000)
        await newRoot(1, NOW - 1000)
        for (const { verb, which } of steps) {
          const one = held[which % held.length] as Held
          if (verb === 'user') await node.revokeUser(one.credential.ppid)
          if (verb === 'credential') await node.revokeCredential(one.credential.id)
          if (verb === 'token' && one.token !== undefined) await node.revokeToken(one.token)
          if (verb === 'reinstate') await node.reinstate(one.credential.ppid)
          if (verb === 'issue') await newRoot(which, NOW + 1000 * (which % 3))
          if (
            verb === 'delegate' &&
            one.holder !== undefined &&
            one.credential.document.parent === undefined
          ) {
            const holder = await newParty()
            await hold(await delegated(one.credential, one.holder, holder), holder)
          }
          await agree(node, held)
        }
        expect(node.deps.views.view(A)?.trusted).toBe(true)
      }),
      { numRuns: 25 },
    )
    expect(await store.logPosition()).toBeGreaterThan(4)
  })
})

async function agree(node: TestNode, held: readonly Held[]): Promise<void> {
  for (const { credential, holder, token } of held) {
    const shown = await node.context(credential.header, holder ? { holder } : {})
    await node.deps.seen.flush()
    const { status } = (await node.status(credential.id)).body.statuses[credential.id]
    // A credential that was revoked before it was ever accepted is not known here, which is no
    // contradiction.
    if (status !== 'unknown')
      expect([credential.id, status]).toEqual([credential.id, shown.status === 200 ? 'active' : 'revoked'])
    if (status === 'unknown') expect(shown.code).toBe('credential_revoked')
    if (shown.status !== 200) expect(shown.code).toBe('credential_revoked')
    if (token === undefined) continue
    const isLetIn = (await node.bearer(token)).status === 200
    expect((await node.introspect(token)).body.active).toBe(isLetIn)
    if (shown.status !== 200) expect(isLetIn).toBe(false)
  }
}
