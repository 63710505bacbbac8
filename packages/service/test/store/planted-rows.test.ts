import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { revokeCredential } from '../../src/actions/revoke-credential.ts'
import { revokeToken } from '../../src/actions/revoke-token.ts'
import { revokeUser } from '../../src/actions/revoke-user.ts'
import { createPairwiseSecret } from '../../src/keys/ids.ts'
import { secretSha256 } from '../../src/keys/secret-text.ts'
import { pairwisePurpose } from '../../src/sealing/purposes.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import { RowForged } from '../../src/store/errors.ts'
import { context, credentialId, MASTER_KEY, NOW, newSite, newToken, ppid, seen } from './fixtures.ts'
import { kindsOf, lastEntryOf } from './log-reading.ts'
import { audit, forEachStoreWriter, type StoreWriter, withNode } from './store-writer.ts'

const sealSecret = (siteId: SiteId) =>
  createSealer(MASTER_KEY).seal(pairwisePurpose(siteId), createPairwiseSecret())
const FAR = 9_000_000_000_000_000

/** A user who is revoked according to the table only. */
async function plantUser({ sql }: StoreWriter, siteId: string, user: string): Promise<void> {
  await sql(
    `INSERT INTO users (site_id, ppid, revoked, first_at, revoked_at, credential_ids, tokens_revoked, revoked_seq, revoked_position,
       cutoff, reinstated_seq, reinstated_position) VALUES ($1, $2, 1, 1, 1, '[]', 0, 1, 1, NULL, 1, $3)`,
    siteId,
    user,
    FAR,
  )
}

async function plantCredential({ sql }: StoreWriter, siteId: string, id: string): Promise<void> {
  await sql(
    `INSERT INTO credential_revocations (site_id, credential_id, type, at, tokens_revoked, seq, position) VALUES ($1, $2, 'credential', 1, 0, 1, $3)`,
    siteId,
    id,
    FAR,
  )
}

forEachStoreWriter('a row that says "already revoked"', (newWriter) => {
  it('does not prevent a revocation that the log lacks, is counted, and is found by the audit (A273)', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const [user, id, secret] = [ppid(), credentialId(), 'svc_at_planted']
    const credential = seen(siteId)
    const token = newToken(credential, { sha256: secretSha256(secret) })
    await withNode(writer, async (store, { deps }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      await store.createToken(token, 20, NOW, credential)
      expect(await audit(writer)).toMatchObject({ code: 0 })

      await plantUser(writer, siteId, user)
      expect(await audit(writer)).toMatchObject({
        code: 3,
        said: expect.stringContaining(`${siteId} ${user} of users`),
      })
      expect(await revokeUser(deps, { siteId, ppid: user, reason: undefined }, context())).toMatchObject({
        alreadyRevoked: false,
      })
      expect(deps.views.view(siteId)?.userRevocation(user, Infinity)).toBeDefined()
      expect(await audit(writer)).toMatchObject({
        code: 3,
        said: expect.stringContaining(`${siteId} ${user} of users`),
      })
      await writer.sql('UPDATE users SET reinstated_seq = NULL, reinstated_position = NULL')

      await plantCredential(writer, siteId, id)
      expect(await audit(writer)).toMatchObject({
        code: 3,
        said: expect.stringContaining(`${id} of credential_revocations`),
      })
      expect(
        await revokeCredential(deps, { siteId, credentialId: id, reason: undefined }, context()),
      ).toMatchObject({ alreadyRevoked: false })
      expect(deps.views.view(siteId)?.credentialRevocation(id)).toBeDefined()
      expect(await audit(writer)).toMatchObject({ code: 0 })

      await writer.sql('UPDATE tokens SET revoked_at = 1')
      expect(await audit(writer)).toMatchObject({
        code: 3,
        said: expect.stringContaining(`${token.sha256} of tokens`),
      })
      expect(await revokeToken(deps, { token: secret, siteId, reason: undefined }, context())).toMatchObject({
        siteId,
      })
      expect(deps.views.view(siteId)?.tokenRevocation(token.sha256)).toBeDefined()
      expect(await audit(writer)).toMatchObject({ code: 0 })

      const said = await deps.meters.text()
      for (const table of ['users', 'credential_revocations', 'tokens'])
        expect(said).toContain(`countersign_store_rows_forged_total{table="${table}"} 1`)
    })
  })

  it('is believed when the log says the same, and nothing is appended or counted then', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const [user, id, secret] = [ppid(), credentialId(), 'svc_at_genuine']
    const [credential, other] = [seen(siteId), seen(siteId, { ppid: user })]
    const token = newToken(credential, { sha256: secretSha256(secret) })
    const withUser = newToken(other, { sha256: secretSha256('svc_at_with_user') })
    await withNode(writer, async (store, { deps }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      await store.createToken(token, 20, NOW, credential)
      await store.createToken(withUser, 20, NOW, other)
      for (const alreadyRevoked of [false, true]) {
        expect(await revokeUser(deps, { siteId, ppid: user, reason: undefined }, context())).toMatchObject({
          alreadyRevoked,
        })
        expect(
          await revokeCredential(deps, { siteId, credentialId: id, reason: undefined }, context()),
        ).toMatchObject({ alreadyRevoked })
        expect(
          (await revokeToken(deps, { token: secret, siteId, reason: undefined }, context())) === undefined,
        ).toBe(alreadyRevoked)
      }
      expect(
        await revokeToken(deps, { token: 'svc_at_with_user', siteId, reason: undefined }, context()),
      ).toBeUndefined()
      expect((await kindsOf(store, siteId)).filter((kind) => kind.endsWith('.revoked'))).toHaveLength(3)
      expect(await deps.meters.text()).not.toMatch(/rows_forged_total\{/)
    })
    expect(await audit(writer)).toMatchObject({ code: 0 })
  })

  it('set back to an earlier revocation of a reinstated user does not prevent the next one', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const user = { siteId, ppid: ppid(), reason: undefined }
    await withNode(writer, async (store, { deps }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      await revokeUser(deps, user, context())
      await store.reinstateUser(user, context())
      await writer.sql('UPDATE users SET revoked = 1')
      expect(await revokeUser(deps, user, context())).toMatchObject({ alreadyRevoked: false, seq: 4 })
      expect(deps.views.view(siteId)?.userRevocation(user.ppid, Infinity)).toBeDefined()
    })
  })

  it('does not keep a credential that was signed ahead valid after a reinstatement', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const ahead = seen(siteId, { createdMs: NOW + 30_000 })
    const user = { siteId, ppid: ahead.ppid, reason: undefined }
    await withNode(writer, async (store, { deps }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: sealSecret(siteId) }), context())
      await store.recordCredentials([ahead], NOW)
      await revokeUser(deps, user, context())
      await plantCredential(writer, siteId, ahead.credentialId)
      await store.reinstateUser(user, context())
      expect(await kindsOf(store, siteId)).toEqual([
        'site.changed',
        'user.revoked',
        'credential.revoked',
        'user.reinstated',
      ])
    })
  })

  it('a token whose row was changed is not revoked at another site: the revocation is answered with RowForged', async () => {
    const writer = await newWriter()
    const [{ siteId }, { siteId: elsewhere }] = [newSite(), newSite()]
    const secret = 'svc_at_moved'
    const credential = seen(siteId)
    await withNode(writer, async (store, { deps }) => {
      for (const each of [siteId, elsewhere])
        await store.createSite(newSite({ siteId: each, pairwiseSecretSealed: sealSecret(each) }), context())
      await store.createToken(newToken(credential, { sha256: secretSha256(secret) }), 20, NOW, credential)
      await writer.sql('UPDATE tokens SET site_id = $1', elsewhere)
      await expect(
        revokeToken(deps, { token: secret, siteId: undefined, reason: undefined }, context()),
      ).rejects.toBeInstanceOf(RowForged)
      expect(await lastEntryOf(store, elsewhere)).toMatchObject({ kind: 'site.changed' })
    })
  })
})
