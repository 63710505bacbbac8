import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SeenCredential } from '../../src/store/operations/credentials.ts'
import {
  context,
  credentialId,
  DAY,
  failingAct,
  NOW,
  newSite,
  newToken,
  ppid,
  seen,
  sha256,
} from './fixtures.ts'
import { entriesOf, kindsOf, lastEntryOf, viewOf } from './log-reading.ts'
import type { TheStore } from './the-store.ts'

export function revocationSuite(store: TheStore): void {
  const madeSite = async () => {
    const site = newSite()
    await store().createSite(site, context())
    return site.siteId
  }

  describe('revoking a user', () => {
    it('writes the entry, kills the tokens and lists the credentials, the newest first', async () => {
      const siteId = await madeSite()
      const [older, newer] = [seen(siteId), seen(siteId)]
      const user = older.ppid
      await store().recordCredentials([older], NOW)
      await store().recordCredentials([{ ...newer, ppid: user }], NOW + 1)
      const [live, ended, anothers] = [
        newToken(older),
        newToken(older, { expiresAtMs: NOW + 5 }),
        newToken(seen(siteId)),
      ]
      for (const token of [live, ended, anothers])
        expect(await store().createToken(token, 20, NOW)).toBe('created')

      const revoked = await store().revokeUser({ siteId, ppid: user, reason: 'left' }, context(NOW + 10))
      const entry = await lastEntryOf(store(), siteId)
      expect(entry).toMatchObject({
        seq: 2,
        kind: 'user.revoked',
        body: { ppid: user, revoked_at: '2026-01-01T12:00:00.260Z' },
      })
      expect(revoked).toEqual({
        credentialId: newer.credentialId,
        credentialIds: [newer.credentialId, older.credentialId],
        alreadyRevoked: false,
        revokedAtMs: NOW + 10,
        tokensRevoked: 1,
        epoch: store().epoch,
        seq: 2,
        position: expect.any(Number),
      })
      expect(await store().logPosition()).toBeGreaterThanOrEqual(revoked.position)
      expect((await store().token(live.sha256))?.revokedAtMs).toBe(NOW + 10)
      expect((await store().token(anothers.sha256))?.revokedAtMs).toBeUndefined()
      const statuses = await store().statuses([older.credentialId, newer.credentialId], siteId)
      expect(statuses.map(({ revocation }) => revocation)).toEqual(
        Array(2).fill({ type: 'user', atMs: NOW + 10, reason: 'left' }),
      )
      const [row] = await store().auditRows(siteId, { after: undefined, limit: 1 })
      expect(row).toMatchObject({
        action: 'user.revoke',
        target: user,
        detail: { outcome: 'done', reason: 'left', seq: 2 },
      })
    })

    it('gives the whole first answer when asked again, without a new entry', async () => {
      const siteId = await madeSite()
      const credential = seen(siteId)
      await store().recordCredentials([credential], NOW)
      await store().createToken(newToken(credential), 20, NOW)
      const user = { siteId, ppid: credential.ppid }
      const first = await store().revokeUser({ ...user, reason: 'first' }, context(NOW + 1))
      await store().recordCredentials([{ ...seen(siteId), ppid: credential.ppid }], NOW + 2)
      const again = await Promise.all(
        [1, 2, 3, 4].map((n) => store().revokeUser({ ...user, reason: 'later' }, context(NOW + 2 + n))),
      )
      for (const answer of again) expect(answer).toEqual({ ...first, alreadyRevoked: true })
      expect(await kindsOf(store(), siteId)).toEqual(['site.changed', 'user.revoked'])
      expect(await store().statuses([credential.credentialId], siteId)).toMatchObject([
        { revocation: { reason: 'first' } },
      ])
    })

    it('takes one number when many ask for it at once', async () => {
      const siteId = await madeSite()
      const user = ppid()
      const answers = await Promise.all(
        Array.from({ length: 24 }, () =>
          store().revokeUser({ siteId, ppid: user, reason: undefined }, context()),
        ),
      )
      expect(answers.filter(({ alreadyRevoked }) => !alreadyRevoked)).toHaveLength(1)
      expect(new Set(answers.map(({ seq }) => seq))).toEqual(new Set([2]))
      expect(await kindsOf(store(), siteId)).toEqual(['site.changed', 'user.revoked'])
    })

    it('of several ids writes one entry for each, also if one is named twice', async () => {
      const siteId = await madeSite()
      const [one, other] = [ppid(), ppid()]
      const order = { siteId, ppids: [one, other, one], reason: undefined }
      const { users, alreadyRevoked } = await store().revokeUsers(order, context())
      expect(users.map((user) => [user.ppid, user.seq])).toEqual([
        [one, 2],
        [other, 3],
      ])
      expect(alreadyRevoked).toBe(false)
    })

    it('covers a user never seen, and credentials that are learned only later', async () => {
      const siteId = await madeSite()
      const late = seen(siteId)
      const revoked = await store().revokeUser({ siteId, ppid: late.ppid, reason: undefined }, context())
      expect(revoked).toMatchObject({ credentialId: null, credentialIds: [], tokensRevoked: 0 })
      await store().recordCredentials([late], NOW + 1)
      expect(await store().statuses([late.credentialId], siteId)).toMatchObject([
        { revocation: { type: 'user', atMs: NOW } },
      ])
    })

    it('leaves nothing behind when it fails half-way', async () => {
      const siteId = await madeSite()
      const credential = seen(siteId)
      const token = newToken(credential)
      await store().createToken(token, 20, NOW, credential)
      const before = await store().logPosition()
      await expect(
        store().revokeUser({ siteId, ppid: credential.ppid, reason: undefined }, failingAct()),
      ).rejects.toThrow()
      expect(await store().logPosition()).toBe(before)
      expect((await store().token(token.sha256))?.revokedAtMs).toBeUndefined()
      expect(await kindsOf(store(), siteId)).toEqual(['site.changed'])
      expect(
        await store().revokeUser({ siteId, ppid: credential.ppid, reason: undefined }, context()),
      ).toMatchObject({
        seq: 2,
        tokensRevoked: 1,
      })
    })

    it('stays at its own site', async () => {
      const [a, b] = [await madeSite(), await madeSite()]
      const credential = seen(a)
      await store().recordCredentials([credential, { ...credential, siteId: b }], NOW)
      await store().revokeUser({ siteId: a, ppid: credential.ppid, reason: undefined }, context())
      expect((await store().statuses([credential.credentialId], b))[0]?.revocation).toBeUndefined()
      expect(await kindsOf(store(), b)).toEqual(['site.changed'])
    })
  })

  describe('revoking a credential', () => {
    it.each([
      ['its parent', 'the credential itself'],
      ['the credential itself', 'its parent'],
    ])('a delegated one has the time and the reason of the first: %s, then %s', async (...order) => {
      const siteId = await madeSite()
      const [root, leaf] = [seen(siteId), seen(siteId)]
      await store().recordCredentials([root, { ...leaf, chain: [...leaf.chain, ...root.chain] }], NOW)
      for (const [i, what] of order.entries()) {
        const { credentialId } = what === 'its parent' ? root : leaf
        await store().revokeCredential({ siteId, credentialId, reason: what }, context(NOW + i))
      }
      const [status] = await store().statuses([leaf.credentialId], siteId)
      expect(status?.revocation).toEqual({ type: 'credential', atMs: NOW, reason: order[0] })
    })

    it('kills the tokens of the credential and of all that hangs on it', async () => {
      const siteId = await madeSite()
      const root = seen(siteId)
      const child = seen(siteId, { ppid: root.ppid })
      const delegated: SeenCredential = { ...child, chain: [...child.chain, ...root.chain] }
      const [own, below, beside] = [
        newToken(root),
        newToken(delegated),
        newToken(seen(siteId, { ppid: root.ppid })),
      ]
      for (const [token, of] of [
        [own, root],
        [below, delegated],
        [beside, undefined],
      ] as const) {
        expect(await store().createToken(token, 20, NOW, of)).toBe('created')
      }
      const target = { siteId, credentialId: root.credentialId }
      const revoked = await store().revokeCredential({ ...target, reason: 'lost' }, context(NOW + 1))
      expect(revoked).toMatchObject({
        credentialIds: [root.credentialId],
        tokensRevoked: 2,
        alreadyRevoked: false,
        seq: 2,
      })
      expect((await entriesOf(store(), siteId))[1]).toMatchObject({
        kind: 'credential.revoked',
        body: { credential_id: root.credentialId, revoked_at: '2026-01-01T12:00:00.251Z' },
      })
      expect((await store().token(beside.sha256))?.revokedAtMs).toBeUndefined()
      const statuses = await store().statuses([root.credentialId, child.credentialId], siteId)
      expect(statuses.map(({ revocation }) => revocation)).toEqual(
        Array(2).fill({ type: 'credential', atMs: NOW + 1, reason: 'lost' }),
      )
      expect(await store().revokeCredential({ ...target, reason: 'again' }, context(NOW + 2))).toEqual({
        ...revoked,
        alreadyRevoked: true,
      })
      expect(await kindsOf(store(), siteId)).toHaveLength(2)
    })

    it('counts for a credential never seen, without making it known to others (A188)', async () => {
      const [siteId, other] = [await madeSite(), await madeSite()]
      const credential = seen(other)
      const named = { siteId, credentialId: credential.credentialId, reason: 'spite' }
      expect(await store().revokeCredential(named, context())).toMatchObject({
        alreadyRevoked: false,
        tokensRevoked: 0,
        seq: 2,
      })
      expect(await store().statuses([credential.credentialId], undefined)).toEqual([])
      await store().recordCredentials([credential], NOW)
      expect(await store().statuses([credential.credentialId], undefined)).toMatchObject([
        { siteId: other, revocation: undefined },
      ])
      await store().recordCredentials([{ ...credential, siteId }], NOW)
      expect(await store().statuses([credential.credentialId], siteId)).toMatchObject([
        { revocation: { reason: 'spite' } },
      ])
    })
  })

  describe('revoking a token', () => {
    it('writes an entry once', async () => {
      const siteId = await madeSite()
      const token = newToken(seen(siteId))
      await store().createToken(token, 20, NOW)
      const target = { sha256: token.sha256, siteId, reason: undefined }
      const answers = await Promise.all([1, 2, 3].map(() => store().revokeToken(target, context(NOW + 1))))
      expect(answers.filter((answer) => answer?.alreadyRevoked === false)).toHaveLength(1)
      expect(answers.filter((answer) => answer?.alreadyRevoked === true)).toHaveLength(2)
      expect(await lastEntryOf(store(), siteId)).toMatchObject({
        seq: 2,
        kind: 'token.revoked',
        body: { token_sha256: token.sha256 },
      })
      expect((await store().token(token.sha256))?.revokedAtMs).toBe(NOW + 1)
    })

    it('does nothing to a token that is unknown, of another site or ended, but leaves an audit row', async () => {
      const [siteId, other] = [await madeSite(), await madeSite()]
      const token = newToken(seen(siteId))
      await store().createToken(token, 20, NOW)
      expect(
        await store().revokeToken({ sha256: sha256(), siteId, reason: undefined }, context()),
      ).toBeUndefined()
      expect(
        await store().revokeToken({ sha256: token.sha256, siteId: other, reason: undefined }, context()),
      ).toBeUndefined()
      expect(
        await store().revokeToken(
          { sha256: token.sha256, siteId, reason: undefined },
          context(token.expiresAtMs),
        ),
      ).toBeUndefined()
      expect((await store().token(token.sha256))?.revokedAtMs).toBeUndefined()
      const [row] = await store().auditRows(other, { after: undefined, limit: 1 })
      expect(row).toMatchObject({ action: 'token.revoke', detail: { outcome: 'refused' } })
      expect(
        await store().revokeToken({ sha256: token.sha256, siteId: undefined, reason: undefined }, context()),
      ).toMatchObject({
        alreadyRevoked: false,
      })
    })

    it('finds a token dead that died with its user', async () => {
      const siteId = await madeSite()
      const credential = seen(siteId)
      const token = newToken(credential)
      await store().createToken(token, 20, NOW)
      await store().revokeUser({ siteId, ppid: credential.ppid, reason: undefined }, context())
      expect(
        await store().revokeToken({ sha256: token.sha256, siteId, reason: undefined }, context()),
      ).toMatchObject({ alreadyRevoked: true })
      expect(await kindsOf(store(), siteId)).toEqual(['site.changed', 'user.revoked'])
    })
  })

  describe('reinstating a user', () => {
    it('lets what is signed from the next second on count, and nothing older', async () => {
      const siteId = await madeSite()
      const old = seen(siteId)
      const user = { siteId, ppid: old.ppid, reason: 'sorry' }
      await store().recordCredentials([old], NOW)
      await store().revokeUser(user, context())
      const reinstated = await store().reinstateUser(user, context(NOW + 1))
      expect(reinstated).toMatchObject({
        reinstatedAtMs: NOW + 750,
        alreadyActive: false,
        seq: 3,
        epoch: store().epoch,
      })
      expect(await lastEntryOf(store(), siteId)).toMatchObject({
        kind: 'user.reinstated',
        body: { ppid: old.ppid, reinstated_at: '2026-01-01T12:00:01Z' },
      })
      const fresh = seen(siteId, { ppid: old.ppid, createdMs: NOW + 1750 })
      await store().recordCredentials([fresh], NOW + 2000)
      const [first, second] = await store().statuses([old.credentialId, fresh.credentialId].sort(), siteId)
      const byId = new Map([first, second].map((row) => [row?.credentialId, row?.revocation]))
      expect(byId.get(old.credentialId)).toMatchObject({ type: 'user', atMs: NOW })
      expect(byId.get(fresh.credentialId)).toBeUndefined()

      expect(await store().reinstateUser(user, context(NOW + DAY))).toEqual({
        ...reinstated,
        alreadyActive: true,
      })
      const again = await store().revokeUser({ ...user, reason: 'again' }, context(NOW + 2 * DAY))
      expect(again).toMatchObject({ alreadyRevoked: false, seq: 4 })
      expect(await store().statuses([fresh.credentialId], siteId)).toMatchObject([
        { revocation: { reason: 'again' } },
      ])
    })

    it('says so when the user was never revoked, and writes no entry', async () => {
      const siteId = await madeSite()
      expect(
        await store().reinstateUser({ siteId, ppid: ppid(), reason: undefined }, context()),
      ).toMatchObject({
        alreadyActive: true,
        seq: 1,
      })
      expect(await kindsOf(store(), siteId)).toEqual(['site.changed'])
    })

    it('revokes by id what is known already and signed by a clock that runs ahead', async () => {
      const siteId = await madeSite()
      const ahead = seen(siteId, { createdMs: NOW + 9_000 })
      const user = { siteId, ppid: ahead.ppid, reason: undefined }
      await store().recordCredentials([ahead, seen(siteId, { ppid: ahead.ppid })], NOW)
      await store().revokeUser({ ...user, reason: 'why' }, context())
      await store().reinstateUser(user, context(NOW + 1))
      expect(await kindsOf(store(), siteId)).toEqual([
        'site.changed',
        'user.revoked',
        'credential.revoked',
        'user.reinstated',
      ])
      expect((await viewOf(store(), siteId)).credentialRevocation(ahead.credentialId)).toBeDefined()
      expect(await store().statuses([ahead.credentialId], siteId)).toMatchObject([
        { revocation: { type: 'user', reason: 'why' } },
      ])
    })
  })

  it('tells of every credential what a view of the log tells of it, whatever has happened', async () => {
    const step = fc.tuple(
      fc.constantFrom('revoke', 'reinstate', 'revoke-id', 'learn', 'learn-child', 'token'),
      fc.nat(3),
      fc.nat(12_000),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const siteId = await madeSite()
        const user = ppid()
        const known: SeenCredential[] = []
        let nowMs = NOW
        for (const [verb, pick, laterMs] of steps) {
          nowMs += laterMs
          const reason = undefined
          const one = known[pick % Math.max(1, known.length)]
          if (verb === 'revoke') await store().revokeUser({ siteId, ppid: user, reason }, context(nowMs))
          if (verb === 'reinstate')
            await store().reinstateUser({ siteId, ppid: user, reason }, context(nowMs))
          if (verb === 'revoke-id') {
            await store().revokeCredential(
              { siteId, credentialId: one?.credentialId ?? credentialId(), reason },
              context(nowMs),
            )
          }
          if (verb === 'learn' || (verb === 'learn-child' && one !== undefined)) {
            // Signed in whole seconds, by a clock up to ten seconds off.
            const createdMs = Math.floor(nowMs / 1000) * 1000 + (pick - 1) * 5000
            const credential = seen(siteId, { ppid: user, createdMs })
            const links = verb === 'learn-child' ? (one?.chain ?? []) : []
            known.push({ ...credential, chain: [...credential.chain, ...links.slice(0, 3)] })
            await store().recordCredentials(known.slice(-1), nowMs)
          }
          if (verb === 'token' && one !== undefined) {
            const isRevoked = isRevokedIn(await viewOf(store(), siteId), one)
            const token = newToken(one, { issuedAtMs: nowMs, expiresAtMs: nowMs + DAY })
            expect(await store().createToken(token, 20, nowMs)).toBe(isRevoked ? 'revoked' : 'created')
          }
        }
        const view = await viewOf(store(), siteId)
        const rows = await store().credentials(siteId, {}, { after: undefined, limit: 100 })
        expect(rows).toHaveLength(known.length)
        for (const row of rows)
          expect([row.credentialId, row.revocation !== undefined]).toEqual([
            row.credentialId,
            isRevokedIn(view, row),
          ])
        for (const token of await store().tokens(siteId, {}, { after: undefined, limit: 100 })) {
          if (token.chain.some(({ credentialId }) => view.credentialRevocation(credentialId) !== undefined)) {
            expect(token.revokedAtMs).toBeDefined()
          }
        }
      }),
      { numRuns: 40 },
    )
  })
}

function isRevokedIn(view: Awaited<ReturnType<typeof viewOf>>, { ppid, chain }: SeenCredential): boolean {
  return chain.some(
    ({ credentialId, createdMs }) =>
      view.credentialRevocation(credentialId) !== undefined ||
      view.userRevocation(ppid, createdMs) !== undefined,
  )
}
