import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { createApiKey, deleteApiKey } from '../../src/actions/api-keys.ts'
import { changeIssuer, changeIssuerKey } from '../../src/actions/change-issuer.ts'
import { changeSite } from '../../src/actions/change-site.ts'
import type { WaitingCaller } from '../../src/actions/waiting-caller.ts'
import { refreshIssuers } from '../../src/did-web/refresh-issuers.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import { RowForged } from '../../src/store/errors.ts'
import { inject } from '../inject.ts'
import { newParty } from '../party.ts'
import { context, DAY, MASTER_KEY, NOW, newIssuer, newSite } from './fixtures.ts'
import { kindsOf, lastEntryOf } from './log-reading.ts'
import { audit, forEachStoreWriter, putBack, type StoreWriter, withNode, withStore } from './store-writer.ts'

const SEALED = createSealer(MASTER_KEY).seal('test', 'x')
const caller: WaitingCaller = {
  confirm: async () => context(),
  releaseWhile: (waiting) => waiting,
}

forEachStoreWriter('a row that is put back as it was before', (newWriter) => {
  const rowOf = async ({ sql }: StoreWriter, table: string, siteId: SiteId, issuer = '%') =>
    (
      await sql(
        `SELECT * FROM ${table} WHERE site_id = $1 ${table === 'issuers' ? `AND issuer LIKE '${issuer}'` : ''}`,
        siteId,
      )
    )[0]

  it('does not make a distrusted issuer trusted again when its document is refreshed or it is changed (A273)', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const trusted = await newIssuer(siteId, { fetched: true })
    const other = await newIssuer(siteId, { fetched: true })
    const { issuer } = trusted
    const next = [{ id: 'key-2', key: (await newParty()).key.publicKey }]
    await withNode(writer, async (store, { deps }, logged) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      await store.addIssuer(trusted, context())
      await store.addIssuer(other, context())
      const before = await rowOf(writer, 'issuers', siteId, issuer)
      await changeIssuer(deps, siteId, issuer, { status: 'distrusted' }, caller)
      await putBack(writer, 'issuers', before)
      expect(await store.issuer(siteId, issuer)).toMatchObject({ status: 'trusted' })
      expect(await audit(writer)).toMatchObject({
        code: 3,
        said: expect.stringContaining(`${siteId} ${issuer} of issuers`),
      })

      const didWeb = { fetch: async () => ({ keys: next, leftOut: [] }) }
      await refreshIssuers({ ...deps, didWeb } as typeof deps)
      // The refresh went on with the other issuer.
      expect(await lastEntryOf(store, siteId)).toMatchObject({
        kind: 'issuer.trusted',
        body: { issuer: other.issuer },
      })
      expect(deps.views.view(siteId)?.issuer(issuer)).toBeUndefined()
      expect(logged.join('')).toContain('its keys were not refreshed')
      const key = { siteId, issuer, keyId: 'key-1' }
      for (const change of [
        () => changeIssuer(deps, siteId, issuer, { label: 'x' }, caller),
        () => changeIssuerKey(deps, key, 'retired', context()),
        // The entries in the store say the same as the view of a node, for a command that has no
        // view.
        () => store.changeIssuer(siteId, issuer, { label: 'x' }, context()),
      ]) {
        await expect(change()).rejects.toBeInstanceOf(RowForged)
      }
      expect((await kindsOf(store, siteId)).filter((kind) => kind === 'issuer.trusted')).toHaveLength(3)
      expect(await deps.meters.text()).toContain('countersign_store_rows_forged_total{table="issuers"} 4')
    })
  })

  it('is found by what the node has read, even while the entries are hidden', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const trusted = await newIssuer(siteId)
    await withNode(writer, async (store, { deps }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      await store.addIssuer(trusted, context())
      const before = await rowOf(writer, 'issuers', siteId, trusted.issuer)
      await changeIssuer(deps, siteId, trusted.issuer, { status: 'distrusted' }, caller)
      await putBack(writer, 'issuers', before)
      const hide = (kind: string, to: string) =>
        writer.sql('UPDATE entries SET kind = $1 WHERE kind = $2', to, kind)
      // One more entry, since the node reads the last one again.
      await store.createSite(newSite({ pairwiseSecretSealed: SEALED }), context())
      await deps.views.waitFor(await store.logPosition())
      await hide('issuer.distrusted', 'issuer.hidden')
      const change = changeIssuer(deps, siteId, trusted.issuer, { label: 'x' }, caller)
      await expect(change).rejects.toBeInstanceOf(RowForged)
      await hide('issuer.hidden', 'issuer.distrusted')
    })
  })

  it('does not prevent that an issuer is distrusted once more', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    const trusted = await newIssuer(siteId)
    await withStore(writer, async (store) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      await store.addIssuer(trusted, context())
      await store.changeIssuer(siteId, trusted.issuer, { status: 'distrusted' }, context())
      const distrusted = await rowOf(writer, 'issuers', siteId)
      await store.changeIssuer(siteId, trusted.issuer, { status: 'trusted' }, context())
      await putBack(writer, 'issuers', distrusted)
      await expect(
        store.changeIssuer(siteId, trusted.issuer, { status: 'distrusted' }, context()),
      ).rejects.toBeInstanceOf(RowForged)
    })
  })

  it('does not bring back earlier settings of a site with its next change', { tags: 'long' }, async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    await withNode(writer, async (store, { deps }) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      const before = await rowOf(writer, 'sites', siteId)
      await changeSite(deps, siteId, { holderProof: 'required' }, context())
      expect(await audit(writer)).toMatchObject({ code: 0 })
      await putBack(writer, 'sites', before)
      expect(await audit(writer)).toMatchObject({
        code: 3,
        said: expect.stringContaining(`${siteId} of sites`),
      })
      await expect(
        changeSite(deps, siteId, { credentialTtlSecondsMax: 60 }, context()),
      ).rejects.toBeInstanceOf(RowForged)
      await expect(
        store.changeSite(siteId, { credentialTtlSecondsMax: 60 }, context()),
      ).rejects.toBeInstanceOf(RowForged)
      expect(deps.views.view(siteId)?.settings).toMatchObject({ holderProof: 'required' })
    })
  })

  it('is told from the rows of issuers with similar names', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    await withStore(writer, async (store) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      for (const issuer of [
        'did:web:a.example%3A1:x',
        'did:web:a.example%3A1',
        'did:web:a.exampleZ3A1',
        'did:web:a.example%3A1:X',
      ])
        expect(await store.addIssuer(await newIssuer(siteId, { issuer }), context())).toMatchObject({
          issuer,
        })
      const first = 'did:web:a.example%3A1'
      expect(await store.changeIssuer(siteId, first, { status: 'distrusted' }, context())).toMatchObject({
        status: 'distrusted',
      })
    })
    expect(await audit(writer)).toMatchObject({ code: 0 })
  })

  it('does not give a person back the role or the access that has ended (A272)', async () => {
    const writer = await newWriter()
    const rowOf = async (personId: string) =>
      (await writer.sql('SELECT * FROM people WHERE person_id = $1', personId))[0]
    const roles = [{ siteId: null, role: 'operator' as const }]
    await withNode(writer, async (store, { deps }) => {
      for (const [personId, changes] of [
        ['person_1', { status: 'ended' as const }],
        ['person_2', { roles: [] }],
      ] as const) {
        await store.createPerson({ personId, name: 'Ada', roles }, 9, undefined, context())
        const link = { sha256: personId, personId, expiresAtMs: NOW + 60_000 }
        await store.createConsoleLink(link, context())
        const session = {
          sha256: `cookie of ${personId}`,
          sessionId: `sess_${personId}`,
          expiresAtMs: NOW + DAY,
          elevatedUntilMs: NOW,
        }
        await store.openConsoleSession(personId, session, undefined, 9, context())
        const kept = (await writer.sql('SELECT * FROM console_sessions WHERE person_id = $1', personId))[0]
        expect(await store.consoleSession(session.sha256)).toMatchObject({ person: { roles } })
        const before = await rowOf(personId)
        await store.changePerson(personId, changes, 9, undefined, context())
        await putBack(writer, 'people', before)
        await putBack(writer, 'console_sessions', kept)
        expect(await store.person(personId)).toBeUndefined()
        expect(await store.consoleSession(session.sha256)).toBeUndefined()
        expect(await store.createConsoleLink(link, context())).toBe('no_person')
        await expect(
          store.changePerson(personId, { name: 'x' }, 9, undefined, context()),
        ).rejects.toBeInstanceOf(RowForged)
      }
      expect(await deps.meters.text()).toMatch(/countersign_store_rows_forged_total\{table="people"\} [1-9]/)
    })
    expect(await audit(writer)).toMatchObject({
      code: 3,
      said: expect.stringContaining('person_1 of people'),
    })
  })

  it('does not give a session more time, another person or elevation, and no link another person', async () => {
    const writer = await newWriter()
    await withNode(writer, async (store) => {
      for (const personId of ['person_1', 'person_2'])
        await store.createPerson({ personId, name: 'Ada', roles: [] }, 9, undefined, context())
      const open = async (name: string) => {
        await store.createConsoleLink(
          { sha256: name, personId: 'person_1', expiresAtMs: NOW + 60_000 },
          context(),
        )
        const session = { sha256: name, sessionId: name, expiresAtMs: NOW + DAY, elevatedUntilMs: NOW }
        return store.openConsoleSession(name, session, undefined, 9, context())
      }
      for (const forged of [
        `person_id = 'person_2'`,
        `expires_at = ${NOW + 99 * DAY}`,
        `seen_at = ${NOW + DAY}`,
        `elevated_until = ${NOW + DAY}`,
      ]) {
        expect(await open(forged)).toBeDefined()
        expect(await store.consoleSession(forged)).toBeDefined()
        await writer.sql(`UPDATE console_sessions SET ${forged} WHERE sha256 = $1`, forged)
        expect(await store.consoleSession(forged)).toBeUndefined()
      }
      await store.createConsoleLink(
        { sha256: 'l', personId: 'person_1', expiresAtMs: NOW + 60_000 },
        context(),
      )
      await writer.sql(`UPDATE console_links SET person_id = 'person_2' WHERE sha256 = 'l'`)
      const session = { sha256: 's', sessionId: 's', expiresAtMs: NOW + DAY, elevatedUntilMs: NOW }
      expect(await store.openConsoleSession('l', session, undefined, 9, context())).toBeUndefined()
      expect(await store.consoleSession('s')).toBeUndefined()
    })
  })

  it('does not make a deleted API key valid again, and the other keys stay valid (A272)', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    const order = { siteId: null, permissions: [], label: undefined, expiresInSeconds: undefined }
    const keyRow = async (keyId: string) =>
      (await writer.sql('SELECT * FROM api_keys WHERE key_id = $1', keyId))[0]
    const { kept, gone, old } = await withNode(writer, async (store, { app, deps }) => {
      const [kept, gone] = [
        await createApiKey({ store }, order, context()),
        await createApiKey({ store }, order, context()),
      ]
      const ask = async ({ secret }: typeof kept) =>
        (await inject(app, { url: '/api/sites', headers: { 'x-api-key': secret } })).statusCode
      expect([await ask(kept), await ask(gone)]).toEqual([200, 200])
      const old = await keyRow(gone.key.keyId)
      await deleteApiKey(deps, null, gone.key.keyId, context())
      await putBack(writer, 'api_keys', old)
      expect(await ask(gone)).toBe(401)
      expect(await store.apiKeysById([gone.key.keyId, kept.key.keyId])).toMatchObject([
        { keyId: kept.key.keyId },
      ])
      expect(await store.apiKeys(null, { after: undefined, limit: 9 })).toMatchObject([
        { keyId: kept.key.keyId },
      ])
      const later = await createApiKey({ store }, order, context())
      expect([await ask(kept), await ask(later)]).toEqual([200, 200])
      expect(await deps.meters.text()).toMatch(
        /countersign_store_rows_forged_total\{table="api_keys"\} [1-9]/,
      )
      return { kept, gone, old }
    })
    expect(await audit(writer)).toMatchObject({
      code: 3,
      said: expect.stringContaining(`${gone.key.keyId} of api_keys`),
    })
    await withNode(writer, async (store, { deps }) => {
      const find = ({ key }: typeof kept) => store.apiKeyBySha256(key.sha256)
      expect([await find(kept), await find(gone)]).toMatchObject([{ keyId: kept.key.keyId }, undefined])
      // It can be deleted once more, and so can others while it is there.
      expect(await store.deleteApiKey(null, gone.key.keyId, context())).toBe(true)
      await putBack(writer, 'api_keys', old)
      expect([await find(kept), await find(gone)]).toMatchObject([{ keyId: kept.key.keyId }, undefined])
      // A number that is set back has a wrong MAC itself. No key can be looked up then.
      await writer.sql('UPDATE log SET keys_deleted = 0')
      for (const key of [gone, kept]) await expect(find(key)).rejects.toMatchObject({ name: 'RowForged' })
      await expect.poll(() => deps.views.readiness().ready).toBe(false)
    })
  })
})
