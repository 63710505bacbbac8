import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toArchiveLine } from '../../src/store/audit-rows.ts'
import type { SeenCredential } from '../../src/store/operations/credentials.ts'
import { context, DAY, NOW, newSite, newToken, ppid, seen } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

/** So long ago that no other test has rows of that time. */
const THEN = Date.UTC(2001, 0, 1)

export function retentionSuite(store: TheStore): void {
  const madeSite = async () => {
    const site = newSite()
    await store().createSite(site, context())
    return site.siteId
  }
  const everyId = async (siteId: SeenCredential['siteId']) =>
    (await store().credentials(siteId, {}, { after: undefined, limit: 1000 })).map((row) => row.credentialId)

  describe('recorded credentials', () => {
    it('are the same in groups as one by one: known ones, repeated ones and delegated ones', async () => {
      const plain = fc.record({ id: fc.nat({ max: 90 }), parent: fc.constant(undefined) })
      const delegated = fc.record({ id: fc.nat({ max: 90 }), parent: fc.nat({ max: 5 }) })
      const batch = fc.array(fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: delegated }), {
        minLength: 40,
        maxLength: 120,
        size: 'max',
      })
      await fc.assert(
        fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 3 }), async (batches) => {
          const [together, alone] = [await madeSite(), await madeSite()]
          const ids = Array.from({ length: 91 }, () => seen(together).credentialId)
          const parents = Array.from({ length: 6 }, () => seen(together).credentialId)
          const toSeen = (
            siteId: SeenCredential['siteId'],
            { id, parent }: (typeof batches)[number][number],
          ) => {
            const credentialId = ids[id] as SeenCredential['credentialId']
            const own = { credentialId, createdMs: NOW, holder: undefined }
            const root = {
              credentialId: parents[parent ?? 0] as typeof credentialId,
              createdMs: NOW,
              holder: undefined,
            }
            return seen(siteId, {
              credentialId,
              ppid: 'did:service:ppid_aaaaaaaaaaaa' as never,
              chain: parent === undefined ? [own] : [own, root],
            })
          }
          for (const [i, all] of batches.entries()) {
            await store().recordCredentials(
              all.map((each) => toSeen(together, each)),
              NOW + i,
            )
            // Of those with the same id, the first one counts.
            for (const each of all) await store().recordCredentials([toSeen(alone, each)], NOW + i)
          }
          for (const siteId of [together, alone])
            for (const credentialId of parents.slice(0, 3))
              await store().revokeCredential({ siteId, credentialId, reason: undefined }, context())
          const everything = async (siteId: SeenCredential['siteId']) =>
            (await store().statuses(ids, siteId)).map((row) => ({ ...row, siteId: undefined }))
          expect(await everything(together)).toEqual(await everything(alone))
        }),
        { numRuns: 3 },
      )
    })
  })

  describe('expired credentials', () => {
    it('are removed up to a time, the oldest first, at most as many as asked for', async () => {
      const siteId = await madeSite()
      const [first, second, third] = [0, 1, 2].map((days) =>
        seen(siteId, { validUntilMs: THEN + days * DAY }),
      ) as [SeenCredential, SeenCredential, SeenCredential]
      await store().recordCredentials([third, first, second], NOW)
      expect(await store().purgeCredentials(THEN - 1, 500)).toBe(0)
      expect(await store().purgeCredentials(THEN + DAY, 1)).toBe(1)
      expect((await everyId(siteId)).sort()).toEqual([second.credentialId, third.credentialId].sort())
      expect(await store().purgeCredentials(THEN + DAY, 500)).toBe(1)
      expect(await everyId(siteId)).toEqual([third.credentialId])
      expect(await store().purgeCredentials(THEN + 2 * DAY, 500)).toBe(1)
      expect(await store().statuses([first.credentialId, third.credentialId], siteId)).toEqual([])
    })

    it('can be recorded again, with their links', async () => {
      const siteId = await madeSite()
      const parent = seen(siteId, { validUntilMs: THEN + DAY })
      const chain = [{ credentialId: seen(siteId).credentialId, createdMs: THEN }, ...parent.chain]
      const child = seen(siteId, {
        credentialId: chain[0]?.credentialId as never,
        chain,
        validUntilMs: THEN,
      })
      await store().recordCredentials([parent, child], NOW)
      expect(await store().purgeCredentials(THEN, 500)).toBe(1)
      await store().recordCredentials([child], NOW)
      await store().revokeCredential(
        { siteId, credentialId: parent.credentialId, reason: undefined },
        context(),
      )
      const rows = await store().statuses([child.credentialId], siteId)
      expect(rows.map(({ revocation }) => revocation?.type)).toEqual(['credential'])
      await store().purgeCredentials(THEN + DAY, 500)
    })

    it('leave what was revoked by id, and the tokens', async () => {
      const siteId = await madeSite()
      const credential = seen(siteId, { validUntilMs: THEN })
      await store().recordCredentials([credential], NOW)
      const token = newToken(credential)
      expect(await store().createToken(token, 20, NOW)).toBe('created')
      const order = { siteId, credentialId: credential.credentialId, reason: 'lost' }
      await store().revokeCredential(order, context())
      expect(await store().purgeCredentials(THEN, 500)).toBe(1)
      expect(await store().revokeCredential(order, context())).toMatchObject({ alreadyRevoked: true })
      expect((await store().token(token.sha256))?.revokedAtMs).toBe(NOW)
    })

    it('do not matter for a credential that has not expired: its status stays', async () => {
      const verb = fc.constantFrom('user', 'credential', 'reinstate', 'sign_out')
      const step = fc.record({ verb, which: fc.nat({ max: 7 }) })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), fc.nat({ max: 255 }), async (steps, expired) => {
          const siteId = await madeSite()
          const users = [ppid(), ppid()]
          const all = Array.from({ length: 8 }, (_, i) =>
            seen(siteId, {
              ppid: users[i % 2] as never,
              createdMs: NOW + (i % 4) * 1000,
              validUntilMs: expired & (1 << i) ? THEN + i : NOW + DAY,
            }),
          )
          await store().recordCredentials(all, NOW)
          const act = async ({ verb, which }: { verb: string; which: number }) => {
            const { ppid, credentialId } = all[which] as SeenCredential
            const order = { siteId, ppid, reason: undefined }
            if (verb === 'user') await store().revokeUser(order, context())
            if (verb === 'credential')
              await store().revokeCredential({ siteId, credentialId, reason: undefined }, context())
            if (verb === 'reinstate') await store().reinstateUser(order, context())
            if (verb === 'sign_out')
              await store().signOutUsers(
                { siteId, ppids: [ppid], beforeMs: NOW, reason: undefined },
                context(),
              )
          }
          for (const each of steps) await act(each)
          const live = all.filter(({ validUntilMs }) => validUntilMs > NOW).map((each) => each.credentialId)
          const before = await store().statuses(live, siteId)
          expect(before).toHaveLength(live.length)
          expect(await store().purgeCredentials(THEN + 30 * DAY, 500)).toBe(all.length - live.length)
          expect(await store().statuses(live, siteId)).toEqual(before)
          expect((await everyId(siteId)).sort()).toEqual([...live].sort())
        }),
        { numRuns: 20 },
      )
    })
  })

  describe('credentials that have not expired', () => {
    it('would be missed if they were removed too: the property above compares what is known', async () => {
      const siteId = await madeSite()
      const credential = seen(siteId, { validUntilMs: THEN + DAY })
      await store().recordCredentials([credential], NOW)
      const before = await store().statuses([credential.credentialId], siteId)
      await store().purgeCredentials(THEN + 2 * DAY, 500)
      expect(await store().statuses([credential.credentialId], siteId)).not.toEqual(before)
    })
  })

  describe('audit rows', () => {
    const write = (count: number, atMs: number, siteId: SeenCredential['siteId'] | null = null) =>
      Promise.all(
        Array.from({ length: count }, (_, i) =>
          store().audit({
            siteId,
            action: 'test.done',
            target: `t${i}`,
            detail: { outcome: 'done', list: ['ä', '\u2028'] },
            context: context(atMs + i),
          }),
        ),
      )
    const from = () => store().auditRowsBefore(NOW - DAY, '', 1000)

    it('are read and removed from the oldest on, up to a time', async () => {
      await write(5, THEN)
      const rows = await from()
      expect(rows.map(({ target }) => target)).toEqual(['t0', 't1', 't2', 't3', 't4'])
      expect((await store().auditRowsBefore(THEN + 2, '', 10)).map(({ target }) => target)).toEqual([
        't0',
        't1',
      ])
      expect((await store().auditRowsBefore(THEN + 9, rows[3]?.id ?? '', 10)).length).toBe(1)
      expect(await store().removeAuditRows(THEN + 4, 3)).toBe(3)
      expect(await store().removeAuditRows(THEN + 4, 3)).toBe(1)
      expect((await from()).map(({ target }) => target)).toEqual(['t4'])
      expect(await store().removeAuditRows(THEN + 5, 3)).toBe(1)
    })

    it('are removed as archived only if the archive has the same row', async () => {
      await write(3, THEN)
      const archived = (await from()).map((row) => ({ id: row.id, line: toArchiveLine(row) }))
      const [first, second, third] = archived as [
        (typeof archived)[0],
        (typeof archived)[0],
        (typeof archived)[0],
      ]
      const forged = { ...second, line: second.line.replace('"t1"', '"t9"') }
      expect(await store().removeArchivedRows([first, forged])).toBe(1)
      expect((await from()).map(({ id }) => id)).toEqual([second.id, third.id])
      expect(await store().removeArchivedRows([first, second, third])).toBe(2)
      expect(await store().removeArchivedRows([])).toBe(0)
    })

    it('are archived by one owner at a time, each archive once', async () => {
      const last = await store().lastAuditArchive()
      expect(await store().claimAuditArchive('a', NOW, 1000)).toEqual(last)
      expect(await store().claimAuditArchive('b', NOW + 999, 1000)).toBeUndefined()
      expect(await store().recordAuditArchive('b', last, 'f'.repeat(64), NOW)).toBe(false)
      expect(await store().recordAuditArchive('a', { ...last, sha256: 'e'.repeat(64) }, 'x', NOW)).toBe(false)
      expect(await store().recordAuditArchive('a', last, 'f'.repeat(64), NOW + 500)).toBe(true)
      const next = { number: last.number + 1, sha256: 'f'.repeat(64), isRemoved: false }
      expect(await store().lastAuditArchive()).toEqual(next)
      // While rows are still to be removed, no other archive follows.
      expect(await store().recordAuditArchive('a', next, 'a'.repeat(64), NOW)).toBe(false)
      expect(await store().claimAuditArchive('b', NOW + 1499, 1000)).toBeUndefined()
      expect(await store().claimAuditArchive('b', NOW + 1500, 1000)).toEqual(next)
      await store().endAuditArchive({ ...next, number: next.number + 1 })
      expect((await store().lastAuditArchive()).isRemoved).toBe(false)
      await store().endAuditArchive(next)
      expect((await store().lastAuditArchive()).isRemoved).toBe(true)
      await store().releaseAuditArchive('a')
      expect(await store().claimAuditArchive('c', NOW + 1500, 1000)).toBeUndefined()
      await store().releaseAuditArchive('b')
      expect(await store().claimAuditArchive('c', NOW + 1500, 1000)).toBeDefined()
      await store().releaseAuditArchive('c')
    })
  })
}
