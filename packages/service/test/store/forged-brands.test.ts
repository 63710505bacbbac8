import { expect, it } from 'vitest'
import { createSealer } from '../../src/sealing/sealer.ts'
import { createPng } from '../brand/pictures.ts'
import { inject } from '../inject.ts'
import { context, MASTER_KEY, newSite, sha256 } from './fixtures.ts'
import { audit, forEachStoreWriter, type StoreWriter, withNode } from './store-writer.ts'

const SEALED = createSealer(MASTER_KEY).seal('test', 'x')
const EVIL = 'https://evil.example/help'

forEachStoreWriter('a store writer without the MAC key', (newWriter) => {
  async function brandedSite(writer: StoreWriter) {
    const { siteId } = newSite()
    const bytes = createPng()
    const logo = {
      url: 'https://a.example/l.png',
      type: 'image/png',
      bytes,
      sha256: sha256(bytes as unknown as string),
    }
    await withNode(writer, async (store) => {
      await store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context())
      await store.changeSite(siteId, { logo, supportUrl: 'https://a.example/help' }, context())
    })
    return { siteId, path: `/logos/${siteId}/${logo.sha256}` }
  }

  it('A343: who changes the look of a site makes the site plain, and audit-log names the row', async () => {
    const writer = await newWriter()
    const { siteId, path } = await brandedSite(writer)
    await withNode(writer, async (store, { app }) => {
      expect((await store.site(siteId))?.brand).toMatchObject({ supportUrl: 'https://a.example/help' })
      expect((await inject(app, { url: path })).statusCode).toBe(200)
    })
    expect(await audit(writer)).toMatchObject({ code: 0 })
    await writer.sql('UPDATE site_brands SET support_url = $1', EVIL)
    await withNode(writer, async (store, { app }, logged) => {
      const found = await store.site(siteId)
      expect(found?.name).toBe('A site')
      expect(found?.brand).toEqual({
        logo: undefined,
        accent: undefined,
        supportUrl: undefined,
        privacyUrl: undefined,
      })
      expect((await inject(app, { url: path })).statusCode).toBe(404)
      expect(logged.join('')).toMatch(/"table":"site_brands"/)
    })
    expect(await audit(writer)).toMatchObject({
      code: 3,
      said: expect.stringContaining(`${siteId} of site_brands`),
    })
    // The administrator sets it again, and all is well.
    await withNode(writer, async (store) => {
      await store.changeSite(siteId, { accent: '#0a6448' }, context())
      expect((await store.site(siteId))?.brand).toMatchObject({ accent: '#0a6448', supportUrl: undefined })
    })
    expect(await audit(writer)).toMatchObject({ code: 0 })
  })

  it('A343: who plants a row shows nothing, and who removes it removes the look only', async () => {
    const writer = await newWriter()
    const { siteId } = newSite()
    await withNode(writer, (store) =>
      store.createSite(newSite({ siteId, pairwiseSecretSealed: SEALED }), context()),
    )
    await writer.sql('INSERT INTO site_brands (site_id, support_url) VALUES ($1, $2)', siteId, EVIL)
    await withNode(writer, async (store) =>
      expect((await store.site(siteId))?.brand.supportUrl).toBeUndefined(),
    )
    expect((await audit(writer)).code).toBe(3)
    await writer.sql('DELETE FROM site_brands')
    await withNode(writer, async (store) => expect(await store.site(siteId)).toMatchObject({ siteId }))
    expect((await audit(writer)).code).toBe(0)
  })

  it('A343: other bytes than those of the hash are not served', async () => {
    const writer = await newWriter()
    const { path } = await brandedSite(writer)
    await withNode(writer, async (_store, { app }) => {
      expect((await inject(app, { url: path })).statusCode).toBe(200)
    })
    await writer.sql('UPDATE site_logos SET logo = $1', createPng(9, 9))
    await withNode(writer, async (_store, { app }) => {
      expect((await inject(app, { url: path })).statusCode).toBe(404)
    })
  })
})
