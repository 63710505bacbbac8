import { parseScopeList, type SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { AUDIT_REJECTED } from '../../src/store/audit-rows.ts'
import type { NewApiKey } from '../../src/store/operations/api-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { context, failingAct, NOW, newIssuer, newKey, newSite, sha256, siteId } from './fixtures.ts'
import { kindsOf, lastEntryOf, viewOf } from './log-reading.ts'
import type { TheStore } from './the-store.ts'

export function administrationSuite(store: TheStore): void {
  const madeSite = async () => {
    const site = newSite()
    expect(await store().createSite(site, context())).not.toBe('exists')
    return site.siteId
  }
  const actions = async (site: Parameters<Store['auditRows']>[0]) =>
    (await store().auditRows(site, { after: undefined, limit: 100 })).map(({ action, detail }) => [
      action,
      detail.outcome,
    ])

  describe('sites', () => {
    it('keeps a site as it was made, and says so first in its log', async () => {
      const site = newSite({
        name: undefined,
        bearer: 'off',
        holderProof: 'required',
        credentialTtlSecondsMax: 60,
      })
      const made = await store().createSite(site, context())
      expect(made).toMatchObject({ ...site, createdAtMs: NOW })
      expect(await store().site(site.siteId)).toEqual({
        ...site,
        brand: {},
        maxStalenessSecondsMax: 60,
        stalenessBefore: undefined,
        createdAtMs: NOW,
      })
      const first = await lastEntryOf(store(), site.siteId)
      expect(first).toMatchObject({
        seq: 1,
        kind: 'site.changed',
        prev_hash: '0'.repeat(64),
        epoch: store().epoch,
      })
      expect(first.body).toEqual({
        bearer: 'off',
        holder_proof: 'required',
        delegation: 'on',
        credential_ttl_seconds_max: 60,
      })
    })

    it('keeps the hosts of a site, which verifiers do not hear of', async () => {
      const site = newSite({ hosts: ['shop.example', 'api.shop.example:8443'] })
      expect(await store().createSite(site, context())).toMatchObject({ hosts: site.hosts })
      expect((await store().site(site.siteId))?.hosts).toEqual(site.hosts)
      expect(await store().changeSite(site.siteId, { hosts: ['b.example'] }, context())).toMatchObject({
        hosts: ['b.example'],
        position: 0,
      })
      expect(await store().changeSite(site.siteId, { name: 'B' }, context())).toMatchObject({
        hosts: ['b.example'],
      })
      expect((await store().changeSite(site.siteId, { hosts: null }, context()))?.hosts).toBeUndefined()
      expect((await store().site(site.siteId))?.hosts).toBeUndefined()
    })

    it('makes a site once', async () => {
      const site = newSite()
      const answers = await Promise.all(Array.from({ length: 8 }, () => store().createSite(site, context())))
      expect(answers.filter((answer) => answer === 'exists')).toHaveLength(7)
      expect(await kindsOf(store(), site.siteId)).toEqual(['site.changed'])
    })

    it('tells verifiers only of changes that concern them', async () => {
      const site = await madeSite()
      expect(
        await store().changeSite(site, { name: null, returnUrls: ['https://b.example/'] }, context()),
      ).toMatchObject({
        name: undefined,
        returnUrls: ['https://b.example/'],
        position: 0,
      })
      expect(await kindsOf(store(), site)).toEqual(['site.changed'])
      const changed = await store().changeSite(
        site,
        { bearer: 'off', credentialTtlSecondsMax: 3600 },
        context(),
      )
      expect(changed?.position).toBeGreaterThan(0)
      expect((await viewOf(store(), site)).settings).toEqual({
        bearer: 'off',
        bearerOffMs: expect.any(Number),
        holderProof: 'optional',
        delegation: 'on',
        credentialTtlSecondsMax: 3600,
      })
      expect(await store().changeSite(site, { bearer: 'off' }, context())).toMatchObject({ position: 0 })
      expect(await actions(site)).toEqual([
        ['site.change', 'unchanged'],
        ['site.change', 'done'],
        ['site.change', 'done'],
        ['site.create', 'done'],
      ])
    })

    it('does not know a site that was never made', async () => {
      expect(await store().site(siteId())).toBeUndefined()
      expect(await store().changeSite(siteId(), { bearer: 'off' }, context())).toBeUndefined()
    })

    it('pages through sites by name', async () => {
      const names = [await madeSite(), await madeSite(), await madeSite()].sort()
      const first = await store().sites({ after: names[0], limit: 1 })
      expect(first.map(({ siteId }) => siteId > (names[0] as string))).toEqual([true])
      const rest = await store().sites({ after: undefined, limit: 1000 })
      const found = rest.map(({ siteId }) => siteId)
      expect(found).toEqual([...found].sort())
      expect(found).toEqual(expect.arrayContaining(names))
    })
  })

  describe('issuers', () => {
    it('states the whole issuer when it is added', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site, { credentialTtlSecondsMax: 60, label: 'ours', fetched: true })
      expect(await store().addIssuer(issuer, context())).toMatchObject({ ...issuer, status: 'trusted' })
      expect(await store().issuer(site, issuer.issuer)).toEqual({
        ...issuer,
        issuerId: expect.stringMatching(/^iss_[0-9a-f]{26}$/),
        oauth: undefined,
        status: 'trusted',
        createdAtMs: NOW,
        keysAtMs: NOW,
      })
      expect(await lastEntryOf(store(), site)).toMatchObject({
        kind: 'issuer.trusted',
        body: {
          issuer: issuer.issuer,
          keys: issuer.keys,
          scope: ['read', 'write'],
          credential_ttl_seconds_max: 60,
        },
      })
      expect(await store().addIssuer(issuer, context())).toBe('exists')
      expect(await kindsOf(store(), site)).toEqual(['site.changed', 'issuer.trusted'])
    })

    it('tells of distrust once, and of new trust with the whole state', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site)
      await store().addIssuer(issuer, context())
      for (const status of ['distrusted', 'distrusted', 'trusted', 'trusted'] as const) {
        expect(await store().changeIssuer(site, issuer.issuer, { status }, context())).toMatchObject({
          status,
        })
      }
      expect(await kindsOf(store(), site)).toEqual([
        'site.changed',
        'issuer.trusted',
        'issuer.distrusted',
        'issuer.trusted',
      ])
      expect((await viewOf(store(), site)).issuer(issuer.issuer)?.keys.size).toBe(1)
    })

    it('replaces what is given, takes away what is null, and keeps a new label to itself', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site)
      await store().addIssuer(issuer, context())
      expect(await store().changeIssuer(site, issuer.issuer, { label: 'new' }, context())).toMatchObject({
        label: 'new',
        position: 0,
      })
      const keys = [await newKey('a'), await newKey('b')]
      const changed = await store().changeIssuer(
        site,
        issuer.issuer,
        { keys, scope: null, credentialTtlSecondsMax: 5 },
        context(),
      )
      expect(changed).toMatchObject({ keys, scope: undefined, credentialTtlSecondsMax: 5, label: 'new' })
      expect(await lastEntryOf(store(), site)).toMatchObject({
        seq: 3,
        body: { keys, scope: null, credential_ttl_seconds_max: 5 },
      })
      expect(
        await store().changeIssuer(site, 'did:web:unknown.example', { label: null }, context()),
      ).toBeUndefined()
    })

    it('changes nothing that was read before its status or the origin of its keys changed', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site, { fetched: true })
      await store().addIssuer(issuer, context())
      const load = async () => {
        const found = await store().issuer(site, issuer.issuer)
        if (found === undefined) throw new Error('the issuer is missing')
        return found
      }
      for (const between of [{ status: 'distrusted' }, { fetched: false }] as const) {
        const before = await load()
        await store().changeIssuer(site, issuer.issuer, between, context())
        const position = await store().logPosition()
        const late = { status: 'trusted', label: 'late' } as const
        expect(await store().changeReadIssuer(before, late, context())).toBe('outdated')
        expect(await store().logPosition()).toBe(position)
        expect(await load()).toMatchObject({ ...between, label: issuer.label })
      }
      const read = await load()
      await store().changeIssuer(site, issuer.issuer, { keys: [await newKey('a')] }, context())
      expect(await store().changeReadIssuer(read, { label: 'new' }, context())).toMatchObject({
        label: 'new',
        keys: [{ id: 'a' }],
      })
      const unknown = { ...read, issuer: 'did:web:unknown.example' }
      expect(await store().changeReadIssuer(unknown, { label: 'new' }, context())).toBeUndefined()
    })

    it('writes nothing when a document that is fetched again has not changed', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site, { fetched: true })
      await store().addIssuer(issuer, context())
      const again = await store().changeIssuer(
        site,
        issuer.issuer,
        { keys: issuer.keys },
        context(NOW, 'system'),
      )
      expect(again).toMatchObject({ position: 0 })
      expect(await actions(site)).toEqual([
        ['issuer.add', 'done'],
        ['site.create', 'done'],
      ])
    })

    it('adds so many, whether they are trusted or not', async () => {
      const site = await madeSite()
      const [one, two, three] = [await newIssuer(site), await newIssuer(site), await newIssuer(site)]
      await store().addIssuer(one, context(), 2)
      await store().changeIssuer(site, one.issuer, { status: 'distrusted' }, context())
      expect(await store().addIssuer(two, context(), 2)).toMatchObject({ issuer: two.issuer })
      expect(await store().addIssuer(three, context(), 2)).toBe('too_many')
      expect(await store().issuer(site, three.issuer)).toBeUndefined()
      // What the service adds by itself it adds in any case.
      expect(await store().addIssuer(three, context())).toMatchObject({ issuer: three.issuer })
    })

    it('keeps what was said of a key while another node was making a list with it', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site, { fetched: true })
      await store().addIssuer(issuer, context())
      const added = await newKey('key-2')
      await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'retired', context())
      const changed = await store().changeIssuer(
        site,
        issuer.issuer,
        { keys: [...issuer.keys, added] },
        context(),
      )
      expect(changed?.keys).toMatchObject([{ id: 'key-1', status: 'retired' }, added])
      expect(await lastEntryOf(store(), site)).toMatchObject({
        body: { keys: [{ status: 'retired' }, { status: 'active' }] },
      })
    })

    it('lets a document change nothing once the keys are pinned', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site, { fetched: true })
      await store().addIssuer(issuer, context())
      const [pinned, published] = [[await newKey('pinned')], [await newKey('published')]]
      await store().changeIssuer(site, issuer.issuer, { keys: pinned, fetched: false }, context())
      const late = { keys: published, whileFetched: true } as const
      expect(await store().changeIssuer(site, issuer.issuer, late, context(NOW, 'system'))).toMatchObject({
        keys: pinned,
        position: 0,
      })
      expect((await store().issuer(site, issuer.issuer))?.keys).toEqual(pinned)
      expect(await lastEntryOf(store(), site)).toMatchObject({ body: { keys: pinned } })
    })

    it('retires a key and takes it back', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site)
      const [key] = issuer.keys
      await store().addIssuer(issuer, context())
      const retired = await store().changeIssuerKey(
        site,
        issuer.issuer,
        'key-1',
        'retired',
        context(NOW + 1000),
      )
      expect(retired).toMatchObject({
        keys: [{ ...key, status: 'retired', retired_at: '2026-01-01T12:00:01.250Z' }],
      })
      expect(
        await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'retired', context(NOW + 2000)),
      ).toMatchObject({ position: 0 })
      expect(await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'active', context())).toMatchObject({
        keys: [key],
      })
      expect(await kindsOf(store(), site)).toEqual([
        'site.changed',
        'issuer.trusted',
        'key.retired',
        'issuer.trusted',
      ])
      expect(await store().changeIssuerKey(site, issuer.issuer, 'key-2', 'active', context())).toBeUndefined()
    })

    it('never lets a compromised key be anything else, by name or by material', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site)
      const other = await newIssuer(site, {
        keys: [{ ...(issuer.keys[0] as (typeof issuer.keys)[0] & object), id: 'same-material' }],
      })
      await store().addIssuer(issuer, context())
      await store().addIssuer(other, context())
      await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'compromised', context())
      expect(await lastEntryOf(store(), site)).toMatchObject({
        kind: 'key.compromised',
        body: { issuer: issuer.issuer, key_id: 'key-1' },
      })
      expect((await store().issuer(site, other.issuer))?.keys).toMatchObject([
        { id: 'same-material', status: 'compromised' },
      ])

      expect(await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'active', context())).toBe('final')
      expect(
        await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'compromised', context()),
      ).toMatchObject({ position: 0 })
      await store().changeIssuer(site, issuer.issuer, { keys: [] }, context())
      const renamed = { ...(issuer.keys[0] as (typeof issuer.keys)[0] & object), id: 'key-9' }
      const back = await store().changeIssuer(
        site,
        issuer.issuer,
        { keys: [await newKey('key-1'), renamed] },
        context(),
      )
      expect(back).toMatchObject({ keys: [{ status: 'compromised' }, { status: 'compromised' }] })
      const statuses = [...((await viewOf(store(), site)).issuer(issuer.issuer)?.keys.values() ?? [])].map(
        ({ status }) => status,
      )
      expect(statuses).toEqual(['compromised', 'compromised'])
    })

    it('tells that a key of an issuer it does not trust is compromised', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site)
      await store().addIssuer(issuer, context())
      await store().changeIssuer(site, issuer.issuer, { status: 'distrusted' }, context())
      expect(await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'retired', context())).toMatchObject(
        {
          position: 0,
        },
      )
      await store().changeIssuerKey(site, issuer.issuer, 'key-1', 'compromised', context())
      expect((await kindsOf(store(), site)).slice(2)).toEqual(['issuer.distrusted', 'key.compromised'])
      await store().changeIssuer(site, issuer.issuer, { status: 'trusted' }, context())
      expect(await lastEntryOf(store(), site)).toMatchObject({ body: { keys: [{ status: 'compromised' }] } })
    })

    it('keeps nothing of an issuer that could not be told to verifiers', async () => {
      const site = await madeSite()
      const issuer = await newIssuer(site, { scope: parseScopeList([]) as [] })
      await expect(store().addIssuer(issuer, context())).rejects.toThrow(TypeError)
      expect(await store().issuer(site, issuer.issuer)).toBeUndefined()
      expect(await kindsOf(store(), site)).toEqual(['site.changed'])
    })

    it('pages through issuers of a site, and through those of all sites that are fetched', async () => {
      const site = await madeSite()
      const three = [
        await newIssuer(site, { fetched: true }),
        await newIssuer(site),
        await newIssuer(site, { fetched: true }),
      ]
      for (const issuer of three) await store().addIssuer(issuer, context())
      const names = three.map(({ issuer }) => issuer).sort()
      const page = await store().issuers(site, { after: names[0], limit: 1 })
      expect(page.map(({ issuer }) => issuer)).toEqual([names[1]])
      const found: string[] = []
      for (let after: string | undefined; ; ) {
        const some = await store().fetchedIssuers({ after, limit: 1 })
        const last = some[0]
        if (last === undefined) break
        after = `${last.siteId} ${last.issuer}`
        if (last.siteId === site) found.push(last.issuer)
      }
      expect(found).toEqual(
        three
          .filter(({ fetched }) => fetched)
          .map(({ issuer }) => issuer)
          .sort(),
      )
    })
  })

  describe('API keys', () => {
    const newApiKey = (fields: Partial<NewApiKey>): NewApiKey => ({
      keyId: `key_${sha256().slice(0, 20)}`,
      siteId: null,
      sha256: sha256(),
      last4: 'abcd',
      permissions: ['site:admin', 'feed:read'],
      label: undefined,
      expiresAtMs: NOW + 1000,
      ...fields,
    })

    it('finds a key by its hash, and no more when it is deleted', async () => {
      const site = await madeSite()
      const key = newApiKey({ siteId: site })
      const made = { ...key, createdAtMs: NOW, createdBy: context().actor }
      expect(await store().createApiKey(key, context())).toEqual(made)
      expect(await store().apiKeyBySha256(key.sha256)).toEqual(made)
      expect(await store().deleteApiKey(null, key.keyId, context())).toBe(false)
      expect(await store().deleteApiKey(await madeSite(), key.keyId, context())).toBe(false)
      expect(await store().apiKeyBySha256(key.sha256)).toBeDefined()
      expect(await store().deleteApiKey(site, key.keyId, context())).toBe(true)
      expect(await store().apiKeyBySha256(key.sha256)).toBeUndefined()
      expect(await store().deleteApiKey(site, key.keyId, context())).toBe(false)
      expect((await actions(site)).slice(0, 2)).toEqual([
        ['api_key.delete', 'done'],
        ['api_key.create', 'done'],
      ])
    })

    it('keeps the keys of operators apart from those of sites', async () => {
      const site = await madeSite()
      const [operators, sites] = [newApiKey({}), newApiKey({ siteId: site, expiresAtMs: undefined })]
      await store().createApiKey(operators, context())
      await store().createApiKey(sites, context())
      expect(
        (await store().apiKeys(site, { after: undefined, limit: 10 })).map(({ keyId }) => keyId),
      ).toEqual([sites.keyId])
      const found = (await store().apiKeys(null, { after: undefined, limit: 1000 })).map(({ keyId }) => keyId)
      expect(found).toContain(operators.keyId)
      expect(found).not.toContain(sites.keyId)
      await expect(store().createApiKey(newApiKey({ siteId: siteId() }), context())).rejects.toThrow()
    })

    it('changes a label, and the key stays valid', async () => {
      const site = await madeSite()
      const key = newApiKey({ siteId: site, label: 'old' })
      await store().createApiKey(key, context())
      const change = (label: string | null, of: SiteId | null = site) =>
        store().changeApiKey(of, key.keyId, label, context())
      expect(await change('new')).toMatchObject({ keyId: key.keyId, label: 'new' })
      expect((await store().apiKeyBySha256(key.sha256))?.label).toBe('new')
      expect((await change(null))?.label).toBeUndefined()
      expect((await change(null))?.label).toBeUndefined()
      expect(await change('x', null)).toBeUndefined()
      expect(await change('x', await madeSite())).toBeUndefined()
      expect((await actions(site)).slice(0, 3)).toEqual([
        ['api_key.change', 'unchanged'],
        ['api_key.change', 'done'],
        ['api_key.change', 'done'],
      ])
      // A deletion of another key gives all keys a new MAC, also one that was changed.
      const other = newApiKey({ siteId: site })
      await store().createApiKey(other, context())
      await store().deleteApiKey(site, other.keyId, context())
      expect(await store().apiKeyBySha256(key.sha256)).toBeDefined()
    })

    it('lists when keys were last used: no use moves back, and none outlives its key', async () => {
      const site = await madeSite()
      const [one, two] = [newApiKey({ siteId: site }), newApiKey({ siteId: site })]
      for (const key of [one, two]) await store().createApiKey(key, context())
      const used = async () =>
        new Map(
          (await store().apiKeys(site, { after: undefined, limit: 10 })).map(
            ({ keyId, lastUsedAtMs }) => [keyId, lastUsedAtMs] as const,
          ),
        )
      const record = (usedAtMs: number, ...keyIds: string[]) =>
        store().recordKeyUses(keyIds.map((keyId) => ({ keyId, usedAtMs })))
      expect((await used()).get(one.keyId)).toBeUndefined()
      await record(NOW, one.keyId, 'key_of_nothing')
      await record(NOW + 3_600_000, one.keyId)
      await record(NOW, one.keyId)
      expect(await used()).toEqual(
        new Map([
          [one.keyId, NOW + 3_600_000],
          [two.keyId, undefined],
        ]),
      )
      await store().deleteApiKey(site, one.keyId, context())
      await record(NOW, one.keyId)
      await store().createApiKey(one, context())
      expect((await used()).get(one.keyId)).toBeUndefined()
    })

    it('keeps the last valid operator key', async () => {
      const site = await madeSite()
      const ofSite = newApiKey({ siteId: site })
      await store().createApiKey(ofSite, context())
      for (const { keyId } of await store().apiKeys(null, { after: undefined, limit: 1000 }))
        await store().deleteApiKey(null, keyId, context())
      const [one, two, expired] = [newApiKey({}), newApiKey({}), newApiKey({ expiresAtMs: NOW })]
      for (const key of [one, two, expired]) await store().createApiKey(key, context())
      expect(await store().deleteOperatorKey(ofSite.keyId, context())).toBe(false)
      expect(await store().deleteOperatorKey('key_of_nothing', context())).toBe(false)
      const both = [one, two].map(({ keyId }) => store().deleteOperatorKey(keyId, context()))
      expect((await Promise.all(both)).sort()).toEqual(['last', true])
      expect(await store().apiKeys(null, { after: undefined, limit: 10 })).toHaveLength(2)
    })
  })

  describe('audit, secrets and time', () => {
    it('lists the newest audit rows first, page by page', async () => {
      const site = await madeSite()
      for (const [i, action] of ['a', 'b', 'c'].entries()) {
        await store().audit({
          siteId: site,
          action,
          target: undefined,
          detail: { n: i, list: ['x'] },
          context: context(NOW + 1 + i, 'key:key_1'),
        })
      }
      const [c, b] = await store().auditRows(site, { after: undefined, limit: 2 })
      expect([c?.action, b?.action]).toEqual(['c', 'b'])
      expect(c).toMatchObject({
        detail: { n: 2, list: ['x'] },
        target: undefined,
        context: { actor: 'key:key_1', requestId: 'req-1' },
      })
      const rest = await store().auditRows(site, { after: b?.id, limit: 10 })
      expect(rest.map(({ action }) => action)).toEqual(['a', 'site.create'])
    })

    it('selects audit rows by each column, in both orders, between two times', async () => {
      const [site, other] = [await madeSite(), await madeSite()]
      const of = async (siteId: typeof site | null, n: number, outcome?: string) =>
        store().audit({
          siteId,
          action: `act.${n % 2 === 0 ? 'even' : 'odd'}`,
          target: `target-${n % 3}`,
          detail: outcome === undefined ? { n } : { n, outcome, reason: '"outcome":"unchanged"' },
          context: { ...context(NOW + 100 + n, `key:key_${n % 2}`), requestId: `${site}.${n}` },
        })
      for (let n = 0; n < 6; n++) await of(site, n, [undefined, 'done', 'unchanged', AUDIT_REJECTED][n])
      await of(other, 7, AUDIT_REJECTED)
      await of(null, 8)
      const select = async (
        by: [string, string] | undefined,
        more: Partial<Parameters<Store['selectAuditRows']>[0]> = {},
        page: Parameters<Store['selectAuditRows']>[1] = { after: undefined, limit: 100 },
      ) => {
        const selection = {
          siteId: site,
          by: by && { column: by[0] as 'actor', value: by[1] },
          fromMs: NOW + 100,
          toMs: undefined,
          order: 'oldest' as const,
          ...more,
        }
        return (await store().selectAuditRows(selection, page)).map(({ detail }) => detail.n)
      }
      expect(await select(undefined)).toEqual([0, 1, 2, 3, 4, 5])
      expect(await select(undefined, { order: 'newest' })).toEqual([5, 4, 3, 2, 1, 0])
      expect(await select(['actor', 'key:key_1'])).toEqual([1, 3, 5])
      expect(await select(['action', 'act.even'], { order: 'newest' })).toEqual([4, 2, 0])
      expect(await select(['target', 'target-2'])).toEqual([2, 5])
      expect(await select(['outcome', AUDIT_REJECTED])).toEqual([3])
      expect(await select(['outcome', 'unchanged'])).toEqual([2])
      expect(await select(['request_id', `${site}.4`])).toEqual([4])
      expect(await select(['request_id', `${site}.7`])).toEqual([])
      expect(await select(['request_id', `${site}.7`], { siteId: undefined })).toEqual([7])
      expect(await select(['request_id', `${site}.8`], { siteId: null })).toEqual([8])
      // `from` is the first time, `to` the first that is not listed.
      expect(await select(undefined, { fromMs: NOW + 102, toMs: NOW + 104 })).toEqual([2, 3])
      expect(await select(undefined, { toMs: NOW + 104, order: 'newest' })).toEqual([3, 2, 1, 0])
      for (const order of ['oldest', 'newest'] as const) {
        const all = await store().selectAuditRows(
          { siteId: site, by: undefined, fromMs: NOW + 101, toMs: NOW + 105, order },
          { after: undefined, limit: 100 },
        )
        const seen: unknown[] = []
        for (const { id } of all)
          seen.push(
            ...(await select(
              undefined,
              { fromMs: NOW + 101, toMs: NOW + 105, order },
              { after: id, limit: 1 },
            )),
          )
        expect(seen).toEqual(all.slice(1).map(({ detail }) => detail.n))
        // A row outside of the range is no way around it.
        const [first] = await store().auditRows(site, { after: undefined, limit: 1 })
        const page = { after: order === 'newest' ? first?.id : 'audit_0', limit: 100 }
        expect(await select(undefined, { fromMs: NOW + 101, toMs: NOW + 105, order }, page)).toHaveLength(4)
      }
    })

    it('keeps what concerns no site apart', async () => {
      const action = `test.${sha256()}`
      await store().audit({ siteId: null, action, target: 'x', detail: {}, context: context() })
      const found = await store().auditRows(null, { after: undefined, limit: 1000 })
      expect(found.filter((row) => row.action === action)).toMatchObject([{ siteId: null, target: 'x' }])
    })

    it('keeps the first secret under a name unless told to replace it', async () => {
      const name = sha256()
      expect(await store().secret(name)).toBeUndefined()
      expect(
        new Set(await Promise.all(['a', 'b', 'c'].map((sealed) => store().putSecret(name, sealed)))).size,
      ).toBe(1)
      const first = await store().secret(name)
      expect(await store().putSecret(name, 'other')).toBe(first)
      expect(await store().putSecret(name, 'other', { replace: true })).toBe('other')
      expect(await store().secret(name)).toBe('other')
    })

    it('never confirms an earlier time than before', async () => {
      const { atMs: base, resets } = await store().confirmedTime()
      const confirm = async (atMs: number) => (await store().confirmTime(atMs, resets)).atMs
      expect(await confirm(base + 1000)).toBe(base + 1000)
      expect(await confirm(base + 500)).toBe(base + 1000)
      const many = await Promise.all([1, 3, 2].map((n) => confirm(base + 1000 + n)))
      expect(Math.max(...many)).toBe(base + 1003)
      expect(await store().confirmedTime()).toEqual({ atMs: base + 1003, resets })
    })

    it('resets the time with an audit row, and takes no time from a node that has not heard of it', async () => {
      const before = await store().confirmTime(NOW + 86_400_000, (await store().confirmedTime()).resets)
      await expect(store().resetTime(NOW + 5, failingAct())).rejects.toThrow()
      expect(await store().confirmedTime()).toEqual(before)
      expect(await store().resetTime(NOW + 5, context(NOW + 5, 'operator'))).toEqual({ fromMs: before.atMs })
      const after = { atMs: NOW + 5, resets: before.resets + 1 }
      expect(await store().confirmTime(before.atMs + 1, before.resets)).toEqual(after)
      expect(await store().confirmTime(NOW + 6, after.resets)).toEqual({ ...after, atMs: NOW + 6 })
      const rows = await store().auditRows(null, { after: undefined, limit: 1000 })
      expect(rows.find(({ action }) => action === 'time.reset')).toMatchObject({
        target: new Date(NOW + 5).toISOString(),
        detail: { from: new Date(before.atMs).toISOString(), outcome: 'done' },
        context: { actor: 'operator', atMs: NOW + 5 },
      })
    })
  })
}
