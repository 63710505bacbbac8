import { describe, expect, it } from 'vitest'
import { context, credentialId, DAY, NOW, newSite, newToken, ppid, seen, sha256, siteId } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

export function tokenSuite(store: TheStore): void {
  const madeSite = async () => {
    const site = newSite()
    await store().createSite(site, context())
    return site.siteId
  }

  describe('credentials', () => {
    it('learns a credential once, with all that was seen of it', async () => {
      const credential = seen(await madeSite(), { holderBound: true, source: 'issued' })
      await store().recordCredentials([credential, credential], NOW, context())
      await store().recordCredentials([{ ...credential, holderBound: false }], NOW + 5, context())
      const found = await store().statuses([credential.credentialId], undefined)
      expect(found).toEqual([{ ...credential, knownAtMs: NOW, revocation: undefined }])
      const rows = await store().auditRows(credential.siteId, { after: undefined, limit: 10 })
      expect(rows.map(({ action, target }) => [action, target])).toEqual([
        ['credential.issue', credential.credentialId],
        ['site.create', credential.siteId],
      ])
    })

    it('passes over credentials of sites that do not exist', async () => {
      const [stray, good] = [seen(siteId()), seen(await madeSite())]
      await store().recordCredentials([stray, good], NOW)
      expect(await store().statuses([stray.credentialId, good.credentialId], undefined)).toMatchObject([
        { credentialId: good.credentialId },
      ])
    })

    it('answers for one site, or for all where the id is known', async () => {
      const [a, b] = [await madeSite(), await madeSite()]
      const shared = seen(a)
      await store().recordCredentials([shared, { ...shared, siteId: b }], NOW)
      expect(await store().statuses([shared.credentialId], a)).toMatchObject([{ siteId: a }])
      expect((await store().statuses([shared.credentialId], undefined)).map(({ siteId }) => siteId)).toEqual(
        [a, b].sort(),
      )
      expect(await store().statuses([credentialId()], a)).toEqual([])
      expect(await store().statuses([], a)).toEqual([])
    })

    it('lists the newest first, by user, page by page', async () => {
      const site = await madeSite()
      const user = ppid()
      const [old, over, gone, fresh] = [
        seen(site, { ppid: user }),
        seen(site, { ppid: user, validUntilMs: NOW + 10 }),
        seen(site, { ppid: user }),
        seen(site),
      ] as const
      for (const [i, credential] of [old, over, gone, fresh].entries())
        await store().recordCredentials([credential], NOW + i)
      await store().revokeCredential(
        { siteId: site, credentialId: gone.credentialId, reason: undefined },
        context(),
      )
      const list = async (filter: { ppid?: typeof user }, after?: string, limit = 10) =>
        (await store().credentials(site, filter, { after, limit })).map((row) => row.credentialId)
      expect(await list({})).toEqual([fresh, gone, over, old].map((row) => row.credentialId))
      expect(await list({ ppid: user })).toEqual([gone, over, old].map((row) => row.credentialId))
      expect(await list({ ppid: user }, `${NOW + 2} ${gone.credentialId}`, 1)).toEqual([over.credentialId])
    })
  })

  describe('tokens', () => {
    it('gives a token back as it was made, and learns its credential', async () => {
      const credential = seen(await madeSite())
      const token = newToken(credential)
      expect(await store().createToken(token, 20, NOW, credential)).toBe('created')
      expect(await store().token(token.sha256)).toEqual({ ...token, revokedAtMs: undefined })
      expect(await store().token(sha256())).toBeUndefined()
      expect(await store().statuses([credential.credentialId], undefined)).toHaveLength(1)
    })

    it('counts the live tokens of a credential, also for concurrent requests', async () => {
      const credential = seen(await madeSite())
      expect(await store().createToken(newToken(credential, { expiresAtMs: NOW + 1 }), 3, NOW)).toBe(
        'created',
      )
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => store().createToken(newToken(credential), 3, NOW + 1)),
      )
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(3)
      expect(answers.filter((answer) => answer === 'too_many')).toHaveLength(9)
    })

    it('lists by jti, the last first, and by user', async () => {
      const site = await madeSite()
      const [one, two] = [seen(site), seen(site)]
      for (const [jti, credential] of [
        ['tok_1', one],
        ['tok_2', two],
        ['tok_3', one],
      ] as const) {
        await store().createToken(newToken(credential, { jti }), 9, NOW)
      }
      const list = async (filter: { ppid?: typeof one.ppid }, after?: string) =>
        (await store().tokens(site, filter, { after, limit: 2 })).map(({ jti }) => jti)
      expect(await list({})).toEqual(['tok_3', 'tok_2'])
      expect(await list({}, 'tok_2')).toEqual(['tok_1'])
      expect(await list({ ppid: one.ppid })).toEqual(['tok_3', 'tok_1'])
    })

    it('is not born of a revoked credential, a revoked parent or a revoked user', async () => {
      const site = await madeSite()
      const parent = credentialId()
      const child = seen(site)
      const chain = [...child.chain, { credentialId: parent, createdMs: NOW - DAY }]
      const delegated = { ...child, chain }
      await store().revokeCredential({ siteId: site, credentialId: parent, reason: undefined }, context())
      expect(await store().createToken(newToken(delegated), 20, NOW, delegated)).toBe('revoked')
      expect(await store().statuses([child.credentialId], site)).toMatchObject([
        { revocation: { type: 'credential' } },
      ])
      const other = seen(site)
      await store().revokeUser({ siteId: site, ppid: other.ppid, reason: undefined }, context())
      expect(await store().createToken(newToken(other), 20, NOW)).toBe('revoked')
    })

    it('is born again only of what was signed after the reinstatement, in every link', async () => {
      const site = await madeSite()
      const user = ppid()
      await store().revokeUser({ siteId: site, ppid: user, reason: undefined }, context())
      const { reinstatedAtMs } = await store().reinstateUser(
        { siteId: site, ppid: user, reason: undefined },
        context(NOW + 1),
      )
      expect(reinstatedAtMs % 1000).toBe(0)
      const asked = (createdMs: number, parentMs = createdMs) => {
        const credential = seen(site, { ppid: user, createdMs })
        const chain = [...credential.chain, { credentialId: credentialId(), createdMs: parentMs }]
        return store().createToken(newToken({ ...credential, chain }), 20, NOW + 5000)
      }
      expect(await asked(reinstatedAtMs)).toBe('revoked')
      expect(await asked(reinstatedAtMs + 1000)).toBe('created')
      expect(await asked(reinstatedAtMs + 1000, reinstatedAtMs)).toBe('revoked')
    })

    it('is purged when it has expired, with all names that were used once', async () => {
      const credential = seen(await madeSite())
      const [ended, living] = [
        newToken(credential, { expiresAtMs: NOW + 10 }),
        newToken(credential, { expiresAtMs: NOW + 11 }),
      ]
      await store().createToken(ended, 20, NOW)
      await store().createToken(living, 20, NOW)
      const [endedName, livingName] = [sha256(), sha256()]
      await store().consumeOnce('state', endedName, NOW + 10)
      await store().consumeOnce('state', livingName, NOW + 11)
      await store().purgeExpired(NOW + 10)
      expect(await store().token(ended.sha256)).toBeUndefined()
      expect(await store().token(living.sha256)).toBeDefined()
      expect(await store().consumeOnce('state', endedName, NOW + 20)).toBe(true)
      expect(await store().consumeOnce('state', livingName, NOW + 20)).toBe(false)
    })
  })
}
