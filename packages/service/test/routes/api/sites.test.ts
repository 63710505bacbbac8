import { beforeEach, describe, expect, it } from 'vitest'
import { ensureOwnIssuerEverywhere } from '../../../src/actions/own-issuer.ts'
import { newSiteId, openAdminNode } from '../../admin-node.ts'
import { keyOf, NOWHERE, operator, type Told } from '../../node.ts'
import { forEachSharedStore } from '../../stores.ts'

const settings = {
  name: 'Shop',
  return_urls: ['https://shop.example/cb'],
  hosts: ['shop.example', 'api.shop.example:8443'],
  bearer: 'off',
  holder_proof: 'required',
  delegation: 'on',
  credential_ttl_seconds_max: 86_400,
  max_staleness_seconds_max: 120,
}

/** How a site looks at first. */
const plain = { logo_url: null, logo_path: null, accent: null, support_url: null, privacy_url: null }

forEachSharedStore('sites', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
    body = { site_id: A, ...settings }
  })
  let body = { site_id: A, ...settings }

  describe('POST /api/sites', () => {
    it('201: makes a site with what was asked for', async () => {
      const node = await openAdminNode(open(), A)
      const { status, body: site } = await node.admin('create_site', { body })
      expect(status).toBe(201)
      expect(site).toEqual({ ...body, ...plain, created_at: '2026-11-14T12:00:00Z' })
    })

    it('201: has plain defaults', async () => {
      const node = await openAdminNode(open(), A)
      const { body: site } = await node.admin('create_site', { body: { site_id: A } })
      expect(site).toMatchObject({
        name: null,
        return_urls: [],
        hosts: null,
        bearer: 'on',
        holder_proof: 'optional',
        delegation: 'on',
        credential_ttl_seconds_max: null,
      })
    })

    it('201: trusts the service itself as an issuer, and this node knows it', async () => {
      const node = await openAdminNode(open(), A)
      await node.admin('create_site', { body: { site_id: A } })
      const { body: page } = await node.admin('list_issuers', { params: { site_id: A } })
      expect(page.items).toMatchObject([
        { issuer: 'did:web:service.example', status: 'trusted', scope: null },
      ])
      expect(node.deps.views.view(A)?.issuer('did:web:service.example')?.keys.size).toBe(1)
    })

    it('gives no two sites the same pairwise secret, and keeps it sealed', async () => {
      const store = open()
      const node = await openAdminNode(store, A)
      const secrets = await Promise.all(
        [A, B].map(async (site_id) => {
          await node.admin('create_site', { body: { site_id } })
          const sealed = (await store.site(site_id))?.pairwiseSecretSealed ?? ''
          expect(() => node.deps.keys.open(`pairwise:${NOWHERE}`, sealed)).toThrow()
          return node.deps.keys.open(`pairwise:${site_id}`, sealed)
        }),
      )
      expect(new Set(secrets).size).toBe(2)
    })

    it('403: is for operators only', async () => {
      const node = await openAdminNode(open(), A)
      expect(await node.admin('create_site', { body, caller: keyOf(A) })).toMatchObject({
        status: 403,
        code: 'api_key_forbidden',
      })
    })

    it('409: refuses a second of the same name, and changes nothing', async () => {
      const node = await openAdminNode(open(), A)
      await node.admin('create_site', { body })
      const position = await node.deps.store.logPosition()
      expect(await node.admin('create_site', { body: { site_id: A } })).toMatchObject({
        status: 409,
        code: 'already_exists',
      })
      expect(await node.deps.store.logPosition()).toBe(position)
      expect((await node.admin('read_site', { params: { site_id: A } })).body.name).toBe('Shop')
    })

    it('422: refuses what is no site_id', async () => {
      const node = await openAdminNode(open(), A)
      for (const site_id of [
        'Shop.Example',
        'shop.example.',
        'shop.example:443',
        'https://shop.example',
        '*.example',
        '-a.example',
        '',
        "' OR 1=1 --",
        'a\u0000b',
        7,
        null,
      ]) {
        expect(await node.admin('create_site', { body: { site_id } }), JSON.stringify(site_id)).toMatchObject(
          {
            status: 422,
            code: 'validation_failed',
          },
        )
      }
    })

    it('A159, A129: refuses return URLs that could lead astray, and members it does not know', async () => {
      const node = await openAdminNode(open(), A)
      for (const url of [
        'http://shop.example/cb',
        'https://a.example\\@evil.example',
        'javascript:alert(1)',
        'https://shop.example/#x',
      ]) {
        expect(
          await node.admin('create_site', { body: { site_id: A, return_urls: [url] } }),
          url,
        ).toMatchObject({
          status: 400,
          code: 'redirect_not_allowed',
        })
      }
      expect(await node.admin('create_site', { body: { site_id: A, pairwise_secret: 'x' } })).toMatchObject({
        status: 422,
      })
      expect((await node.admin('read_site', { params: { site_id: A } })).status).toBe(404)
    })

    it('heals a site whose trust in the service could not be written', async () => {
      const store = open()
      const node = await openAdminNode(store, A)
      const { addIssuer } = store
      store.addIssuer = async () => {
        throw new Error('cut off')
      }
      await expect(node.admin('create_site', { body: { site_id: A } })).rejects.toThrow(
        'create_site has failed',
      )
      store.addIssuer = addIssuer
      expect((await node.admin('list_issuers', { params: { site_id: A } })).body.items).toEqual([])
      await ensureOwnIssuerEverywhere(node.deps, {
        actor: 'system',
        atMs: node.clock.nowMs(),
        requestId: undefined,
      })
      expect((await node.admin('list_issuers', { params: { site_id: A } })).body.items).toHaveLength(1)
    })
  })

  describe('GET and PATCH /api/sites/{site_id}', () => {
    it('200: reads and changes what is named, and leaves the rest', async () => {
      const node = await openAdminNode(open(), A)
      await node.admin('create_site', { body })
      const { body: changed } = await node.admin('change_site', {
        params: { site_id: A },
        body: { name: null, bearer: 'on', credential_ttl_seconds_max: null },
        caller: keyOf(A),
      })
      expect(changed).toEqual({
        ...plain,
        ...body,
        name: null,
        bearer: 'on',
        credential_ttl_seconds_max: null,
        created_at: '2026-11-14T12:00:00Z',
      })
      expect((await node.admin('read_site', { params: { site_id: A }, caller: keyOf(A) })).body).toEqual(
        changed,
      )
    })

    it('200: what a verifier must know is known when the answer comes', async () => {
      const node = await openAdminNode(open(), A)
      await node.admin('create_site', { body: { site_id: A } })
      await node.admin('change_site', {
        params: { site_id: A },
        body: { bearer: 'off', holder_proof: 'required' },
      })
      expect(node.deps.views.view(A)?.settings).toMatchObject({ bearer: 'off', holderProof: 'required' })
    })

    it('200: a change of nothing is no error and no news', async () => {
      const node = await openAdminNode(open(), A)
      await node.admin('create_site', { body })
      const position = await node.deps.store.logPosition()
      expect((await node.admin('change_site', { params: { site_id: A }, body: {} })).status).toBe(200)
      expect(
        (await node.admin('change_site', { params: { site_id: A }, body: { bearer: 'off', name: 'Other' } }))
          .body.name,
      ).toBe('Other')
      expect(await node.deps.store.logPosition()).toBe(position)
    })

    it('404: another site looks like one that does not exist', async () => {
      const node = await openAdminNode(open(), A)
      await node.admin('create_site', { body: { site_id: B } })
      const told: Told[] = []
      for (const site_id of [B, NOWHERE]) {
        told.push(await node.admin('read_site', { params: { site_id }, caller: keyOf(A) }))
        told.push(
          await node.admin('change_site', { params: { site_id }, body: { name: 'x' }, caller: keyOf(A) }),
        )
      }
      told.push(await node.admin('read_site', { params: { site_id: NOWHERE } }))
      told.push(await node.admin('change_site', { params: { site_id: NOWHERE }, body: { name: 'x' } }))
      expect(told.map(({ status, body }) => [status, body])).toEqual(
        told.map(() => [404, { ...told[0]?.body, code: 'not_found' }]),
      )
      expect((await node.admin('read_site', { params: { site_id: B } })).body.name).toBeNull()
    })
  })

  describe('GET /api/sites', () => {
    it('200: the operator sees all, page by page; a site key sees its own only', async () => {
      const node = await openAdminNode(open(), A)
      const ids = ['d', 'a', 'c', 'b', 'e'].map((letter) => `${letter}.${A}`)
      for (const site_id of ids) await node.admin('create_site', { body: { site_id } })
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body: page } = await node.admin('list_sites', {
          query: `limit=2${cursor && `&cursor=${cursor}`}`,
        })
        seen.push(...page.items.map((site: { site_id: string }) => site.site_id))
        cursor = page.next_cursor
      }
      expect(seen).toEqual([...new Set(seen)].sort())
      expect(seen.filter((id) => ids.includes(id))).toEqual([...ids].sort())
      await node.admin('create_site', { body: { site_id: B } })
      const own = await node.admin('list_sites', { caller: keyOf(B) })
      expect(own.body).toMatchObject({ items: [{ site_id: B }], next_cursor: null })
    })

    it('400: a cursor of the operator is of no use to a site key', async () => {
      const node = await openAdminNode(open(), A)
      for (const site_id of [A, B]) await node.admin('create_site', { body: { site_id } })
      const { body: page } = await node.admin('list_sites', { query: 'limit=1', caller: operator })
      expect(
        await node.admin('list_sites', { query: `cursor=${page.next_cursor}`, caller: keyOf(A) }),
      ).toMatchObject({
        status: 400,
        code: 'cursor_malformed',
      })
    })

    it('400 and 422: refuses what is no cursor or limit', async () => {
      const node = await openAdminNode(open(), A)
      for (const query of ['cursor=AAAA', 'cursor=%27%20OR%201=1', 'cursor=']) {
        expect(await node.admin('list_sites', { query }), query).toMatchObject({
          status: 400,
          code: 'cursor_malformed',
        })
      }
      for (const query of ['limit=0', 'limit=201', 'limit=-1', 'limit=x', 'limit=1.5', 'colour=red']) {
        expect(await node.admin('list_sites', { query }), query).toMatchObject({ status: 422 })
      }
    })
  })
})
