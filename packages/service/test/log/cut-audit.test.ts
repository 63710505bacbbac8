import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { cutLog } from '../../src/log/cut-log.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { auditStore } from '../../src/store/maintenance.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, MASTER_KEY, newSite, newToken, ppid, seen } from '../store/fixtures.ts'
import { forEachStoreWriter, withStore } from '../store/store-writer.ts'

const NOW = Date.now()
const OLD = NOW - 900 * DAY
const OLDER = OLD - 100 * DAY

async function beginSite(store: Store): Promise<SiteId> {
  const site = newSite()
  await store.createSite(site, context(OLDER))
  return site.siteId
}

async function cut(store: Store) {
  await writeCheckpointAtEnd(store, NOW)
  return cutLog({ store, beforeMs: NOW - 396 * DAY, context: context(NOW) })
}

forEachStoreWriter('the audit of a log that was cut', (newWriter) => {
  it('passes for a user who was reinstated long ago and revoked again', async () => {
    const writer = await newWriter()
    const user = await withStore(writer, async (store) => {
      const again = { siteId: await beginSite(store), ppid: ppid(), reason: undefined }
      await store.revokeUser(again, context(OLD))
      await store.reinstateUser(again, context(OLD + DAY))
      await writeCheckpointAtEnd(store, OLD + DAY)
      await store.revokeUser(again, context(NOW))
      // The reinstatement is no longer in the pages, but in the row.
      expect(await cut(store)).toMatchObject({ revocations: 2, rows: 0 })
      return again
    })
    const [row] = await writer.sql('SELECT revoked, cutoff FROM users WHERE ppid = $1', user.ppid)
    expect(row).toMatchObject({ revoked: 1, cutoff: expect.any(Number) })
    expect(await auditStore(writer.place, MASTER_KEY)).toMatchObject({ ok: true, basePosition: 3 })
    // Control: a later cut-off has to be that of the log.
    await writer.sql('UPDATE users SET cutoff = $1 WHERE ppid = $2', NOW - DAY, user.ppid)
    expect(await auditStore(writer.place, MASTER_KEY)).toMatchObject({ ok: false, fault: 'row_differs' })
  })

  it('passes when the row of such a user was removed before the pages were compacted', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const siteId = await beginSite(store)
      const revoke = (atMs: number, name = ppid()) =>
        store.revokeUser({ siteId, ppid: name, reason: undefined }, context(atMs))
      for (let i = 0; i < 20; i++) await revoke(OLDER)
      await writeCheckpointAtEnd(store, OLDER)
      await revoke(OLD)
      await cut(store)
      const again = { siteId, ppid: ppid(), reason: undefined }
      await store.revokeUser(again, context(OLD))
      await store.reinstateUser(again, context(OLD + DAY))
      await writeCheckpointAtEnd(store, OLD + DAY)
      await revoke(NOW)
      // Two revocations are too few for a new page.
      expect(await cut(store)).toMatchObject({ entries: 3, revocations: 0, rows: 1 })
      expect(await auditStore(writer.place, MASTER_KEY)).toMatchObject({ ok: true })
      await store.revokeUser(again, context(NOW))
    })
    expect(await auditStore(writer.place, MASTER_KEY)).toMatchObject({ ok: true })
  })

  it('passes for a revoked token that has expired and was not removed yet', async () => {
    const writer = await newWriter()
    await withStore(writer, async (store) => {
      const siteId = await beginSite(store)
      const token = newToken(seen(siteId), { issuedAtMs: OLD, expiresAtMs: OLD + 900_000 })
      await store.createToken(token, 20, OLD, seen(siteId))
      await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, context(OLD))
      const revoke = (atMs: number) =>
        store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context(atMs))
      await revoke(OLD)
      await writeCheckpointAtEnd(store, OLD)
      await revoke(NOW)
      expect(await cut(store)).toMatchObject({ revocations: 1 })
    })
    expect(await auditStore(writer.place, MASTER_KEY)).toMatchObject({ ok: true })
    // Control: a later revocation has to be in the log.
    await writer.sql('UPDATE tokens SET revoked_at = $1', NOW)
    expect(await auditStore(writer.place, MASTER_KEY)).toMatchObject({ ok: false, fault: 'row_differs' })
  })
})
