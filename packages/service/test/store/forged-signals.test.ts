import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { createPairwiseSecret } from '../../src/keys/ids.ts'
import { pairwisePurpose } from '../../src/sealing/purposes.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import { RowForged } from '../../src/store/errors.ts'
import type { NewSignal, SignalEffect } from '../../src/store/operations/signals.ts'
import { context, MASTER_KEY, NOW, newSite, ppid } from './fixtures.ts'
import { audit, forEachStoreWriter, withNode } from './store-writer.ts'

const seal = (siteId: SiteId) =>
  createSealer(MASTER_KEY).seal(pairwisePurpose(siteId), createPairwiseSecret())
const ISSUER = 'https://idp.example'

forEachStoreWriter('a store writer and signals', (newWriter) => {
  const newSignal = (siteId: NewSignal['siteId'], effects: readonly SignalEffect[]): NewSignal => ({
    siteId,
    type: 'events',
    issuer: ISSUER,
    jti: 'jti-1',
    bodySha256: 'ab',
    event: 'account-disabled',
    outcome: 'disabled',
    effects,
    expiresAtMs: NOW + 1000,
  })

  it('who plants a signal as received gets it neither acknowledged nor hidden (A272)', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    await withNode(writer, (store) =>
      store
        .createSite(newSite({ siteId, pairwiseSecretSealed: seal(siteId) }), context())
        .then(() => undefined),
    )
    await writer.sql(
      `INSERT INTO signals (site_id, issuer, jti, type, body_sha256, outcome, received_at, expires_at)
       VALUES ($1, $2, 'jti-1', 'events', 'ab', 'disabled', 0, $3)`,
      siteId,
      ISSUER,
      NOW + 1000,
    )
    await withNode(writer, async (store) => {
      const signal = newSignal(siteId, [{ kind: 'disabled', ppid: ppid() }])
      await expect(store.receiveSignal(signal, context())).rejects.toBeInstanceOf(RowForged)
      // Another signal is not affected.
      expect(await store.receiveSignal({ ...signal, jti: 'jti-2' }, context())).toMatchObject({
        state: 'received',
      })
    })
    expect(await audit(writer)).toMatchObject({ code: 3, said: expect.stringContaining('of signals') })
  })

  it('who plants a user as revoked does not prevent the revocation (A273)', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const user = ppid()
    await withNode(writer, async (store) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: seal(siteId) }), context())
    })
    await writer.sql(
      `INSERT INTO users (site_id, ppid, revoked, first_at, revoked_at, credential_ids, tokens_revoked, revoked_seq, revoked_position)
       VALUES ($1, $2, 1, 0, 0, '[]', 0, 1, 1)`,
      siteId,
      user,
    )
    await withNode(writer, async (store, { deps }) => {
      const signal = newSignal(siteId, [{ kind: 'disabled', ppid: user }])
      const first = await store.receiveSignal(signal, context())
      expect(first).toEqual({ state: 'known', revoked: [{ id: user, seq: 1 }] })
      const known = [{ id: user, seq: 1, isInLog: false }]
      expect(await store.receiveSignal(signal, context(), known)).toMatchObject({ state: 'received' })
      await deps.views.waitFor(await store.logPosition())
      expect(deps.views.view(siteId)?.userRevocation(user, Infinity)).toBeDefined()
      expect(await store.receiveSignal(signal, context())).toMatchObject({ state: 'repeated' })
    })
  })
})
