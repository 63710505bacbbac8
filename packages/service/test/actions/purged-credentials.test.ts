import fc from 'fast-check'
import { expect, it } from 'vitest'
import { begin, keyOf } from '../node.ts'
import { type Made, NOW, newPpid } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'

const HOUR_MS = 3_600_000
const act = fc.record({
  verb: fc.constantFrom('user', 'credential', 'reinstate'),
  which: fc.nat({ max: 5 }),
})

forEachSharedStore('credentials that have expired', (open) => {
  it('can be removed: every other credential keeps its verdict and its status', {
    tags: 'long',
  }, async () => {
    const { node, issued, store, A } = await begin(open())
    const ask = async (credentials: readonly Made[]) => {
      const verdicts = []
      for (const { header, id } of credentials) {
        const { status, code } = await node.context(header)
        const { body } = await node.status(id, keyOf(A), `&site_id=${A}`)
        verdicts.push({ status, code, known: body.statuses[id] })
      }
      return verdicts
    }
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 6 }), fc.nat({ max: 63 }), async (acts, short) => {
        const users = [newPpid(), newPpid()]
        const nowMs = node.clock.wallMs
        const all: Made[] = []
        for (let i = 0; i < 6; i++) {
          const validUntilMs = nowMs + (short & (1 << i) ? 1 : 100) * HOUR_MS
          // Some are signed by a clock that is ahead.
          const createdMs = nowMs + (i % 3) * 2000 - 1000
          const made = await issued({ ppid: users[i % 2] as string, nowMs, createdMs, validUntilMs })
          all.push(made)
          const { status } = await node.context(made.header)
          if (i % 3 === 0) expect(status).toBe(200)
        }
        await node.deps.seen.flush()
        for (const { verb, which } of acts) {
          const { ppid, id } = all[which] as Made
          if (verb === 'user') await node.revokeUser(ppid)
          if (verb === 'credential') await node.revokeCredential(id)
          if (verb === 'reinstate') await node.reinstate(ppid)
        }
        await node.later(2 * HOUR_MS)
        const before = await ask(all)
        await store.purgeCredentials(node.clock.wallMs, 1000)
        const after = await ask(all)
        for (const [i, made] of all.entries()) {
          if (!(short & (1 << i))) expect(after[i], made.id).toEqual(before[i])
          // An expired one is denied as before; only its status is no longer known.
          else expect(after[i], made.id).toMatchObject({ status: before[i]?.status, code: before[i]?.code })
        }
        // A user who is reinstated after the removal gets no expired credential back.
        for (const ppid of users) await node.reinstate(ppid)
        const reinstated = await ask(all)
        for (const [i, made] of all.entries())
          if (before[i]?.status !== 200) expect(reinstated[i]?.status, made.id).not.toBe(200)
        await node.later(200 * HOUR_MS)
        await store.purgeCredentials(node.clock.wallMs, 1000)
      }),
      { numRuns: 12 },
    )
    expect(node.clock.wallMs).toBeGreaterThan(NOW)
  })

  it('answer unknown after their removal, and revoked if their site has revoked them by id', async () => {
    const { node, issued, store, A } = await begin(open())
    const [plain, revoked] = [await issued(), await issued()]
    for (const { header } of [plain, revoked]) await node.context(header)
    await node.deps.seen.flush()
    await node.revokeCredential(revoked.id)
    await node.later(2 * HOUR_MS)
    const ask = async () => {
      const { body } = await node.status([plain.id, revoked.id], keyOf(A), `&site_id=${A}`)
      return [plain, revoked].map(({ id }) => body.statuses[id].status)
    }
    expect(await ask()).toEqual(['expired', 'revoked'])
    await store.purgeCredentials(node.clock.wallMs, 1000)
    expect(await ask()).toEqual(['unknown', 'revoked'])
    expect(await store.derivedFault(node.clock.wallMs)).toBeUndefined()
  })
})
