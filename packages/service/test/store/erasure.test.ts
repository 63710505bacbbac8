import { type CredentialId, findRevocation, type Ppid, type SiteId, toChainGrounds } from '@countersign/core'
import { expect, it } from 'vitest'
import { eraseUser, previewErasure } from '../../src/actions/erase-user.ts'
import type { Deps } from '../../src/deps.ts'
import { createPairwiseSecret } from '../../src/keys/ids.ts'
import { pairwisePurpose } from '../../src/sealing/purposes.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import { macTables, tablesWithoutMac } from '../../src/store/mac-tables.ts'
import type { SeenCredential } from '../../src/store/operations/credentials.ts'
import { createPicks } from '../log/verdicts.ts'
import { context, DAY, MASTER_KEY, newSite, newToken, ppid, seen, sha256 } from './fixtures.ts'
import { audit, forEachStoreWriter, type StoreWriter, withNode } from './store-writer.ts'

const HOUR = 3_600_000
/** Of a caller whose access does not end. */
const confirm = async () => {}

async function createSite({ store }: Pick<Deps, 'store'>): Promise<SiteId> {
  const { siteId } = newSite()
  const pairwiseSecretSealed = createSealer(MASTER_KEY).seal(pairwisePurpose(siteId), createPairwiseSecret())
  await store.createSite(newSite({ siteId, pairwiseSecretSealed }), context())
  return siteId
}

/** A known credential that was signed at that time. */
async function known(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  user: Ppid,
  createdMs: number,
  nowMs: number,
): Promise<SeenCredential> {
  const credential = seen(siteId, {
    ppid: user,
    createdMs,
    validFromMs: nowMs - DAY,
    validUntilMs: nowMs + DAY,
  })
  await store.recordCredentials([credential], nowMs, context(nowMs))
  return credential
}

/** What every guard says of a credential, known or not. */
async function isRevoked({ store, views }: Deps, credential: SeenCredential): Promise<boolean> {
  await views.waitFor(await store.logPosition())
  const view = views.view(credential.siteId)
  if (view === undefined) throw new Error('there is no view')
  const { ppid: user, issuer, chain } = credential
  return findRevocation({ ppid: user, issuer, ...toChainGrounds(chain) }, view) !== undefined
}

/** The tables in which one of these texts is. */
async function tablesWith({ sql }: StoreWriter, texts: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const table of [...Object.keys(macTables), ...Object.keys(tablesWithoutMac)]) {
    if (table === 'schema_version') continue
    const content = JSON.stringify(await sql(`SELECT * FROM ${table}`))
    if (texts.some((text) => content.includes(text))) found.push(table)
  }
  return found.sort()
}

/** A user with two known credentials: one that was signed an hour ago, and one an hour ahead. */
async function beginUser(deps: Deps) {
  const siteId = await createSite(deps)
  const user = ppid()
  const nowMs = deps.clock.nowMs()
  const past = await known(deps, siteId, user, nowMs - HOUR, nowMs)
  const ahead = await known(deps, siteId, user, nowMs + HOUR, nowMs)
  return { siteId, user, nowMs, past, ahead }
}

forEachStoreWriter('the erasure of a user', (newWriter) => {
  it('gives nothing back that a later reinstatement would have revoked, also not what was signed ahead', async () => {
    await withNode(await newWriter(), async (store, { deps }) => {
      const { siteId, user, nowMs, past, ahead } = await beginUser(deps)
      await store.revokeUser({ siteId, ppid: user, reason: undefined }, context(nowMs))
      expect([await isRevoked(deps, past), await isRevoked(deps, ahead)]).toEqual([true, true])
      await eraseUser(deps, { siteId, ppids: [user] }, context(nowMs), confirm)
      await store.reinstateUser({ siteId, ppid: user, reason: undefined }, context(nowMs))
      expect([await isRevoked(deps, past), await isRevoked(deps, ahead)]).toEqual([true, true])
    })
  })

  it('the test before can fail: a row that is only removed gives access back', async () => {
    const writer = await newWriter()
    await withNode(writer, async (store, { deps }) => {
      const { siteId, user, nowMs, ahead } = await beginUser(deps)
      await store.revokeUser({ siteId, ppid: user, reason: undefined }, context(nowMs))
      await writer.sql('DELETE FROM credentials')
      await store.reinstateUser({ siteId, ppid: user, reason: undefined }, context(nowMs))
      expect(await isRevoked(deps, ahead)).toBe(false)
    })
  })

  it('keeps a credential that the log has not ended, because only its row can be revoked by id later', async () => {
    await withNode(await newWriter(), async (store, { deps }) => {
      const { siteId, user, nowMs, past, ahead } = await beginUser(deps)
      // As if it was recorded after the sign-out.
      const ids = [past.credentialId, ahead.credentialId]
      expect(await store.eraseCredentials({ siteId, ppids: [user] }, ids, nowMs)).toBe(1)
      expect((await store.statuses(ids, siteId)).map((row) => row.credentialId)).toEqual([ahead.credentialId])
    })
  })

  it('leaves the pairwise id in the log, in the rows that are derived from it, and nowhere else', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store, { deps }) => {
      const siteId = await createSite(deps)
      const [user, other] = [ppid(), ppid()]
      const nowMs = deps.clock.nowMs()
      const at = context(nowMs, 'key:key_1')
      const credential = await known(deps, siteId, user, nowMs - HOUR, nowMs)
      const second = await known(deps, siteId, user, nowMs - HOUR, nowMs)
      const others = await known(deps, siteId, other, nowMs - HOUR, nowMs)
      const token = newToken(credential, { issuedAtMs: nowMs, expiresAtMs: nowMs + HOUR })
      expect(await store.createToken(token, 20, nowMs, credential)).toBe('created')
      const offer = { siteId, scope: credential.scope, permissionId: undefined, ttlSeconds: undefined }
      for (const each of [user, other])
        await store.createOffer({ ...offer, ppid: each, sha256: sha256(), expiresAtMs: nowMs + HOUR }, at)
      const reason = 'Jane Doe lost her phone'
      const order = { siteId, reason }
      await store.revokeCredential(
        { ...order, credentialId: second.credentialId },
        context(nowMs, `holder:${second.credentialId}`),
      )
      await store.revokeToken({ sha256: token.sha256, siteId, reason }, at)
      await store.revokeUser({ ...order, ppid: user }, at)
      await store.revokeUser({ ...order, ppid: other }, at)
      const person = [user, credential.credentialId, second.credentialId, token.jti, token.sha256]
      expect(await tablesWith(writer, [user])).toEqual(
        ['audit', 'credentials', 'entries', 'offers', 'tokens', 'user_history', 'users'].sort(),
      )
      const preview = await previewErasure(deps, { siteId, ppids: [user] })
      const before = JSON.stringify(await writer.sql('SELECT * FROM audit'))
      expect(preview.erased).toEqual({ credentials: 2, tokens: 1, offers: 1, presentations: 0, auditRows: 6 })
      expect(JSON.stringify(await writer.sql('SELECT * FROM audit'))).toBe(before)

      const { erased } = await eraseUser(deps, { siteId, ppids: [user] }, at, confirm)
      // One more: the sign-out.
      expect(erased).toEqual({ ...preview.erased, auditRows: 7 })
      expect(await tablesWith(writer, person)).toEqual([
        'credential_revocations',
        'entries',
        'user_history',
        'users',
      ])
      expect(
        await writer.sql('SELECT reason FROM user_history WHERE ppid = $1 AND reason IS NOT NULL', user),
      ).toEqual([])
      // The other user still has the same reason.
      const [row] = await writer.sql('SELECT * FROM users WHERE ppid = $1', user)
      expect(row).toMatchObject({ revoked: 1, reason: null, first_reason: null, credential_ids: '[]' })
      expect(await writer.sql('SELECT reason FROM credential_revocations')).toEqual([{ reason: null }])
      expect(
        JSON.stringify(await writer.sql('SELECT * FROM audit WHERE target = $1', 'erased')),
      ).not.toContain('Jane')
      expect((await store.statuses([others.credentialId], siteId)).length).toBe(1)
      expect(await writer.sql('SELECT ppid FROM offers')).toEqual([{ ppid: other }])

      const rows = await store.auditRows(siteId, { after: undefined, limit: 50 })
      expect(rows[0]).toMatchObject({
        action: 'user.erase',
        target: 'erased',
        detail: { credentials: 2, tokens: 1, audit_rows: 7 },
        context: { actor: 'key:key_1' },
      })
      const ofHolder = rows.find(({ action }) => action === 'credential.revoke')
      expect(ofHolder).toMatchObject({
        target: 'erased',
        detail: { outcome: 'done', reason: null, seq: null, tokens_revoked: 0 },
        context: { actor: 'holder', atMs: nowMs, requestId: undefined },
      })
      expect(
        rows
          .filter(({ action }) => action === 'user.revoke')
          .map(({ target }) => target)
          .sort(),
      ).toEqual([other, 'erased'].sort())
      expect(await audit(writer)).toMatchObject({ code: 0 })

      // Again: there is nothing left but the new sign-out.
      const again = await eraseUser(deps, { siteId, ppids: [user] }, at, confirm)
      expect(again.erased).toEqual({ credentials: 0, tokens: 0, offers: 0, presentations: 0, auditRows: 1 })
      expect(await isRevoked(deps, credential)).toBe(true)
    })
  })

  it('reaches a credential that was accepted while the user was being signed out', async () => {
    const writer = await newWriter()
    await withNode(writer, async (_, { deps }) => {
      const siteId = await createSite(deps)
      const user = ppid()
      const nowMs = deps.clock.nowMs()
      await known(deps, siteId, user, nowMs - HOUR, nowMs)
      const atLast: (() => Promise<unknown>)[] = [
        async () => {},
        () => known(deps, siteId, user, nowMs - HOUR, nowMs),
      ]
      const seen = { ...deps.seen, flush: async () => void (await atLast.shift()?.()) }
      const { erased } = await eraseUser(
        { ...deps, seen },
        { siteId, ppids: [user] },
        context(nowMs + 1),
        confirm,
      )
      expect(erased.credentials).toBe(2)
      expect(await writer.sql('SELECT credential_id FROM credentials')).toEqual([])
    })
  })

  it('finds audit rows about credentials that are no longer known, by the row of their issuance', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store, { deps }) => {
      const siteId = await createSite(deps)
      const user = ppid()
      const nowMs = deps.clock.nowMs()
      const { credentialId } = await known(deps, siteId, user, nowMs - HOUR, nowMs)
      await store.revokeCredential({ siteId, credentialId, reason: 'Jane' }, context(nowMs + 1))
      await writer.sql('DELETE FROM credentials')
      const { erased } = await eraseUser(deps, { siteId, ppids: [user] }, context(nowMs + 2), confirm)
      expect(erased).toMatchObject({ credentials: 0, auditRows: 3 })
      expect(await tablesWith(writer, [user])).toEqual(['entries', 'user_history'])
      const texts = JSON.stringify(await writer.sql('SELECT * FROM audit'))
      for (const text of [credentialId, 'Jane']) expect(texts).not.toContain(text)
    })
  })

  it('continues after a failure in the middle, and finds all audit rows then', { tags: 'long' }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store, { deps }) => {
      const siteId = await createSite(deps)
      const user = ppid()
      const nowMs = deps.clock.nowMs()
      const credential = await known(deps, siteId, user, nowMs - HOUR, nowMs)
      await store.revokeCredential(
        { siteId, credentialId: credential.credentialId, reason: 'x' },
        context(nowMs),
      )
      const person = [user, credential.credentialId]
      for (const step of [
        'signOutUsers',
        'eraseAuditRows',
        'eraseUserRows',
        'eraseCredentials',
        'recordErasure',
      ] as const) {
        const failing: Deps['store'] = Object.create(store, {
          [step]: { value: () => Promise.reject(new Error('the store has failed')) },
        })
        const broken = { store: failing, views: deps.views, seen: deps.seen }
        await expect(eraseUser(broken, { siteId, ppids: [user] }, context(nowMs), confirm)).rejects.toThrow(
          'has failed',
        )
      }
      await eraseUser(deps, { siteId, ppids: [user] }, context(nowMs), confirm)
      expect(await tablesWith(writer, person)).toEqual(['credential_revocations', 'entries', 'user_history'])
    })
  })

  it('never changes a verdict from denied to allowed: 2,000 random credentials of users with random histories', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    await withNode(writer, async (store, { deps }) => {
      const siteId = await createSite(deps)
      const random = createPicks(20_261_116)
      const nowMs = deps.clock.nowMs()
      const users = [...Array(40)].map(() => ppid())
      const all: SeenCredential[] = []
      for (let i = 0; i < 2000; i++) {
        const user = users[Math.floor(random() * users.length)] as Ppid
        const createdMs = nowMs + Math.floor((random() * 4 - 3) * 1800) * 1000
        all.push(seen(siteId, { ppid: user, createdMs, validUntilMs: nowMs + DAY }))
      }
      const seenHere = all.filter(() => random() < 0.6)
      for (let i = 0; i < seenHere.length; i += 500)
        await store.recordCredentials(seenHere.slice(i, i + 500), nowMs)
      const act = async (user: Ppid) => {
        const order = { siteId, ppid: user, reason: undefined }
        const at = context(nowMs)
        const kind = Math.floor(random() * 4)
        if (kind === 0) await store.revokeUser(order, at)
        if (kind === 1) await store.reinstateUser(order, at)
        if (kind === 2)
          await store.signOutUsers({ siteId, ppids: [user], beforeMs: nowMs, reason: undefined }, at)
        const one = all[Math.floor(random() * all.length)]
        if (kind === 3 && one !== undefined)
          await store.revokeCredential({ siteId, credentialId: one.credentialId, reason: undefined }, at)
      }
      for (const user of users) for (let i = 0; i < 3; i++) await act(user)
      const verdicts = async () => {
        await deps.views.waitFor(await store.logPosition())
        return Promise.all(all.map((credential) => isRevoked(deps, credential)))
      }
      const erasedUsers = users.filter(() => random() < 0.5)
      const before = await verdicts()
      for (const user of erasedUsers)
        await eraseUser(deps, { siteId, ppids: [user] }, context(nowMs), confirm)
      const after = await verdicts()
      const knownIds = new Set<CredentialId>(seenHere.map(({ credentialId }) => credentialId))
      for (const [i, credential] of all.entries()) {
        if (before[i]) expect(after[i]).toBe(true)
        if (!erasedUsers.includes(credential.ppid)) expect(after[i]).toBe(before[i])
        // All that is known, or was signed until now, has ended.
        else if (knownIds.has(credential.credentialId) || (credential.chain[0]?.createdMs ?? 0) <= nowMs)
          expect(after[i]).toBe(true)
      }
      expect(before.filter(Boolean).length).toBeGreaterThan(200)
      expect(before.filter((each) => !each).length).toBeGreaterThan(200)
      // A reinstatement gives nothing back that is known to have ended.
      for (const user of erasedUsers)
        await store.reinstateUser({ siteId, ppid: user, reason: undefined }, context(nowMs))
      const reinstated = await verdicts()
      for (const [i, credential] of all.entries())
        if (erasedUsers.includes(credential.ppid) && knownIds.has(credential.credentialId))
          expect(reinstated[i]).toBe(true)
      expect(await audit(writer)).toMatchObject({ code: 0 })
    })
  })
})
