import type { CredentialId, Grounds, SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { cutLog } from '../../src/log/cut-log.ts'
import { readToEnd, writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { restoreLog } from '../../src/store/checkpoints/restore-log.ts'
import type { Store } from '../../src/store/store.ts'
import { context, credentialId, DAY, ppid, seen } from '../store/fixtures.ts'
import { forEachStoreWriter, type StoreWriter, withStore } from '../store/store-writer.ts'
import { judgeAll } from './verdicts.ts'
import { beginYears } from './years.ts'

const R = Date.UTC(2020, 0, 1)
const SIGNED = R + 300 * DAY
const ENDS = R + 666 * DAY

/** Cuts the log as the service does that many days after the revocation. */
async function cutAfter(store: Store, siteId: SiteId, days: number) {
  const nowMs = R + days * DAY
  await writeCheckpointAtEnd(store, nowMs)
  await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(nowMs))
  await writeCheckpointAtEnd(store, nowMs)
  return cutLog({ store, beforeMs: nowMs - 396 * DAY, context: context(nowMs) })
}

/** A site with so many old revocations that they stay in a page of their own. */
async function begin(store: Store) {
  const years = await beginYears(store, R)
  for (let i = 0; i < 5; i++)
    await store.revokeUser({ siteId: years.siteId, ppid: ppid(), reason: undefined }, context(R))
  return years
}

async function judge(store: Store, siteId: SiteId, issuer: string, ids: readonly CredentialId[]) {
  const { log } = await restoreLog(store)
  await readToEnd(store, log)
  const grounds: Grounds = {
    issuer,
    issuerKey: `${issuer}#key-1`,
    signedAtMs: SIGNED,
    oldestSignedAtMs: SIGNED,
    ppid: ppid(),
    credentialIds: ids,
    holders: [],
    isDelegated: ids.length > 1,
    expiresAtMs: ENDS,
  }
  return judgeAll((id) => log.views.get(id), [{ siteId, grounds }], [R + 400 * DAY])[0]
}

const revokedIds = async ({ sql }: StoreWriter) =>
  (await sql('SELECT credential_id FROM credential_revocations')).map((row) => row.credential_id).sort()

const ahead = { createdMs: SIGNED, validFromMs: SIGNED, validUntilMs: ENDS }

forEachStoreWriter('a cut and credentials that were signed ahead', (newWriter) => {
  it('keeps their revocation until they have expired, and no other', { tags: 'long' }, async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const { siteId, issuer } = await begin(store)
      const signedAhead = seen(siteId, ahead)
      const usual = seen(siteId, { createdMs: R, validFromMs: R, validUntilMs: R + 366 * DAY })
      await store.recordCredentials([signedAhead, usual], R)
      const unknown = credentialId()
      for (const id of [signedAhead.credentialId, usual.credentialId, unknown])
        await store.revokeCredential({ siteId, credentialId: id, reason: undefined }, context(R))
      expect(await cutAfter(store, siteId, 397)).toMatchObject({ revocations: 2, rows: 2 })
      expect(await judge(store, siteId, issuer, [signedAhead.credentialId])).toBe('credential_revoked')
      // Control: the service cannot know when the other one was signed.
      expect(await judge(store, siteId, issuer, [unknown])).toBe('allowed')
      expect(await revokedIds(writer)).toEqual([signedAhead.credentialId])
      expect(await cutAfter(store, siteId, 695)).toMatchObject({ rows: 0 })
      expect(await cutAfter(store, siteId, 697)).toMatchObject({ rows: 1 })
      expect(await revokedIds(writer)).toEqual([])
    })
  })

  it('keeps the revocation of a parent as long as a credential below it is valid', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const { siteId, issuer } = await begin(store)
      const [parent, child] = [credentialId(), credentialId()]
      const chain = [child, parent].map((id) => ({ credentialId: id, createdMs: SIGNED }))
      await store.recordCredentials([seen(siteId, { ...ahead, credentialId: child, chain })], R)
      await store.revokeCredential({ siteId, credentialId: parent, reason: undefined }, context(R))
      await cutAfter(store, siteId, 397)
      expect(await judge(store, siteId, issuer, [child, parent])).toBe('credential_revoked')
      expect(await revokedIds(writer)).toEqual([parent])
    })
  })

  it('keeps what a reinstatement has revoked, also when the data of the user is erased', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const { siteId, issuer } = await begin(store)
      const known = seen(siteId, ahead)
      const user = { siteId, ppid: known.ppid, reason: undefined }
      await store.recordCredentials([known], R)
      await store.revokeUser(user, context(R))
      await store.reinstateUser(user, context(R))
      expect(await revokedIds(writer)).toEqual([known.credentialId])
      const erased = { siteId, ppids: [known.ppid] }
      expect(await store.eraseCredentials(erased, [known.credentialId], R + DAY)).toBe(0)
      await cutAfter(store, siteId, 397)
      expect(await judge(store, siteId, issuer, [known.credentialId])).toBe('credential_revoked')
      // The entry is gone, so the next reinstatement writes another one.
      await store.revokeUser(user, context(R + 398 * DAY))
      await store.reinstateUser(user, context(R + 398 * DAY))
      expect(await judge(store, siteId, issuer, [known.credentialId])).toBe('credential_revoked')
    })
  })
})
