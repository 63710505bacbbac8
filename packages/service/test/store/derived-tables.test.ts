import { expect, it } from 'vitest'
import { auditStore } from '../../src/store/maintenance.ts'
import {
  context,
  credentialId,
  MASTER_KEY,
  NOW,
  newIssuer,
  newSite,
  newToken,
  ppid,
  seen,
} from './fixtures.ts'
import { forEachStoreWriter, openPlace } from './store-writer.ts'

forEachStoreWriter('tables made from the log (A273, B14)', (newWriter) => {
  it('are compared with it by the audit, row by row', async () => {
    const { place, sql } = await newWriter()
    const store = await openPlace(place)
    const site = newSite()
    const { siteId } = site
    await store.createSite(site, context())
    const issuer = await newIssuer(siteId)
    await store.addIssuer(issuer, context())
    const credential = seen(siteId)
    const token = newToken(credential)
    await store.createToken(token, 20, NOW, credential)
    const [revoked, reinstated, id] = [ppid(), ppid(), credentialId()]
    const user = (name: typeof revoked) => ({ siteId, ppid: name, reason: undefined })
    await store.revokeUser(user(revoked), context())
    await store.revokeUser(user(reinstated), context())
    await store.reinstateUser(user(reinstated), context())
    await store.revokeCredential({ siteId, credentialId: id, reason: undefined }, context())
    await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, context())
    await store.changeIssuerKey(siteId, issuer.issuer, 'key-1', 'compromised', context())
    await store.close()
    const audit = () => auditStore(place, MASTER_KEY)
    expect(await audit()).toMatchObject({ ok: true })

    const spoils: readonly (readonly [spoil: string, repair: string, found: object])[] = [
      [
        `UPDATE users SET revoked = 0 WHERE ppid = '${revoked}'`,
        `UPDATE users SET revoked = 1 WHERE ppid = '${revoked}'`,
        { fault: 'row_differs', row: { table: 'users', key: `${siteId} ${revoked}` } },
      ],
      [
        `UPDATE users SET cutoff = 5 WHERE ppid = '${reinstated}'`,
        `UPDATE users SET cutoff = ${Math.ceil(NOW / 1000) * 1000} WHERE ppid = '${reinstated}'`,
        { fault: 'row_differs', row: { table: 'users', key: `${siteId} ${reinstated}` } },
      ],
      [
        `UPDATE tokens SET revoked_at = NULL`,
        `UPDATE tokens SET revoked_at = ${NOW}`,
        { fault: 'row_differs', row: { table: 'tokens', key: token.sha256 } },
      ],
      [
        `UPDATE credential_revocations SET position = 1`,
        `UPDATE credential_revocations SET position = 6`,
        { fault: 'row_differs', row: { table: 'credential_revocations', key: `${siteId} ${id}` } },
      ],
      [
        `UPDATE compromised_keys SET key_id = 'key-9'`,
        `UPDATE compromised_keys SET key_id = 'key-1'`,
        { fault: 'row_missing', row: { table: 'compromised_keys', key: `${siteId} ${issuer.issuer} key-1` } },
      ],
    ]
    for (const [spoil, repair, found] of spoils) {
      await sql(spoil)
      expect(await audit()).toMatchObject({ ok: false, ...found })
      await sql(repair)
      expect(await audit()).toMatchObject({ ok: true })
    }
    await sql(`DELETE FROM users WHERE ppid = '${revoked}'`)
    expect(await audit()).toMatchObject({
      ok: false,
      fault: 'row_missing',
      row: { table: 'users', key: `${siteId} ${revoked}` },
    })
  })
})
