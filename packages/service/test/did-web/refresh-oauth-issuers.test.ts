import type { SiteId } from '@countersign/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKeySetFetcher } from '../../src/did-web/fetch-key-set.ts'
import { createRefreshHints } from '../../src/did-web/refresh-hints.ts'
import { refreshIssuer, refreshIssuers } from '../../src/did-web/refresh-issuers.ts'
import { createJsonFetcher } from '../../src/net/fetch-json.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../admin-node.ts'
import { newJwk } from '../jwks.ts'
import { type KeySetServer, openKeySetServer } from '../key-set-server.ts'
import { keyOf } from '../node.ts'
import { NOW, newParty } from '../party.ts'
import { forEachSharedStore } from '../stores.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

forEachSharedStore('the refresh of OAuth issuers', (open) => {
  let A: SiteId
  let server: KeySetServer
  beforeEach(async () => {
    A = newSiteId()
    server = await openKeySetServer('', [newJwk('EC', { kid: 'k1' })])
  })
  afterEach(() => server.close())

  /** A node in development, whose clock the test sets. */
  const begin = async (siteId = A) => {
    const node = await openAdminNode(open(), siteId)
    let nowMs = NOW
    const outcomes: string[] = []
    Object.assign(node.deps, {
      config: { ...node.deps.config, mode: 'development' },
      keySets: createKeySetFetcher(createJsonFetcher({ allowLoopback: true })),
      clock: { ...node.deps.clock, nowMs: () => nowMs },
      meters: { ...node.deps.meters, issuerRefresh: (outcome: string) => outcomes.push(outcome) },
    })
    return {
      ...node,
      outcomes,
      at: (ms: number) => {
        nowMs = NOW + ms
      },
    }
  }
  const add = async (node: AdminNode, members: object = {}, siteId = A) => {
    await node.admin('create_site', { body: { site_id: siteId } })
    const answer = await node.admin('add_issuer', {
      params: { site_id: siteId },
      body: {
        type: 'oauth',
        issuer: server.issuer,
        audience: ['api'],
        jwks_uri: `${server.url}/keys`,
        ...members,
      },
      caller: keyOf(siteId),
    })
    expect(answer.status).toBe(201)
    return answer.body as { issuer_id: string; keys: { id: string; kid: string; status: string }[] }
  }
  const kids = async (node: AdminNode, siteId = A) =>
    (await node.deps.store.issuer(siteId, server.issuer))?.keys.map(({ kid }) => kid)
  const fetches = () => server.requested.filter((path) => path === '/keys').length
  const auditActions = async (node: AdminNode) =>
    (await node.deps.store.auditRows(A, { after: undefined, limit: 100 })).map(({ action }) => action)

  it('adds a new key, and no longer accepts one that the set has lost', async () => {
    const node = await begin()
    await add(node)
    server.keys = [...server.keys, newJwk('OKP', { kid: 'k2' })]
    await refreshIssuers(node.deps)
    expect(await kids(node)).toEqual(['k1', 'k2'])
    server.keys = server.keys.slice(1)
    await refreshIssuers(node.deps)
    expect(await kids(node)).toEqual(['k2'])
    await node.deps.views.waitFor(await node.deps.store.logPosition())
    const trusted = node.deps.views.view(A)?.oauthIssuer(server.issuer)
    expect([...(trusted?.keys.values() ?? [])].map(({ kid }) => kid)).toEqual(['k2'])
  })

  it('records a key that changes under the same kid, and accepts only the new one (A289)', async () => {
    const node = await begin()
    const { keys } = await add(node)
    server.keys = [newJwk('EC', { kid: 'k1' })]
    await refreshIssuers(node.deps)
    const now = (await node.deps.store.issuer(A, server.issuer))?.keys ?? []
    expect(now).toMatchObject([{ kid: 'k1', status: 'active' }])
    expect(now[0]?.id).not.toBe(keys[0]?.id)
    expect(await auditActions(node)).toContain('issuer.change')
  })

  it('keeps what the site has said of a key', async () => {
    const node = await begin()
    const { issuer_id, keys } = await add(node)
    const status = (value: string) =>
      node.admin('change_issuer_key', {
        params: { site_id: A, issuer: issuer_id, key: keys[0]?.id ?? '' },
        body: { status: value },
        caller: keyOf(A),
      })
    const [old = {}] = server.keys
    await status('compromised')
    server.keys = [newJwk('EC', { kid: 'k2' })]
    await refreshIssuers(node.deps)
    server.keys = [{ ...old, kid: 'k3' }, ...server.keys]
    await refreshIssuers(node.deps)
    expect((await node.deps.store.issuer(A, server.issuer))?.keys).toMatchObject([
      { kid: 'k3', status: 'compromised' },
      { kid: 'k2', status: 'active' },
    ])
  })

  it('appends nothing when nothing has changed', async () => {
    const node = await begin()
    await add(node)
    const before = await node.deps.store.logPosition()
    await refreshIssuers(node.deps)
    expect(await node.deps.store.logPosition()).toBe(before)
    expect(fetches()).toBe(2)
  })

  it('skips issuers with an explicit key set, and distrusted ones', async () => {
    const node = await begin()
    const { issuer_id } = await add(node)
    const change = (body: object) =>
      node.admin('change_issuer', { params: { site_id: A, issuer: issuer_id }, body, caller: keyOf(A) })
    await change({ status: 'distrusted' })
    await refreshIssuers(node.deps)
    expect(fetches()).toBe(1)
    server.keys = [newJwk('EC', { kid: 'new' })]
    expect((await change({ status: 'trusted' })).body.keys).toMatchObject([{ kid: 'new' }])
    await change({ jwks: { keys: [newJwk('EC', { kid: 'own' })] } })
    await refreshIssuers(node.deps)
    expect(fetches()).toBe(2)
    expect(await kids(node)).toEqual(['own'])
  })

  it('lets two nodes make one fetch for all sites', async () => {
    const one = await begin()
    await add(one)
    const B = newSiteId()
    await add(one, {}, B)
    const two = await begin(B)
    const before = fetches()
    server.keys = [newJwk('EC', { kid: 'k2' })]
    const pauseMs = 3 * MINUTE_MS
    one.at(5 * MINUTE_MS)
    two.at(5 * MINUTE_MS + 2000)
    await Promise.all([
      refreshIssuers(one.deps, { pauseMs }),
      refreshIssuers(two.deps, { pauseMs }),
      refreshIssuers(one.deps, { pauseMs }),
    ])
    expect(fetches()).toBe(before + 1)
    expect([await kids(one), await kids(one, B)]).toEqual([['k2'], ['k2']])
    // Control: after the pause it is fetched again.
    two.at(9 * MINUTE_MS)
    await refreshIssuers(two.deps, { pauseMs })
    expect(fetches()).toBe(before + 2)
  })

  it('admits new keys at most 12 times per hour, then raises an alarm (A289)', { tags: 'long' }, async () => {
    const node = await begin()
    await add(node)
    await refreshIssuers(node.deps)
    const begun = await node.deps.store.logPosition()
    for (let i = 1; i <= 20; i++) {
      node.at(i * MINUTE_MS)
      server.keys = [newJwk('OKP', { kid: `f${i}` })]
      await refreshIssuers(node.deps)
    }
    // The last key that was admitted is gone too, and was removed.
    expect((await node.deps.store.logPosition()) - begun).toBe(13)
    expect(await kids(node)).toEqual([])
    expect(node.outcomes.filter((outcome) => outcome === 'held_back')).toHaveLength(8)
    expect(await auditActions(node)).toContain('issuer.keys_held_back')
    expect(node.logged.join('')).toContain('change too often')
    // Control: an hour after the first change there is room again.
    node.at(HOUR_MS + 2 * MINUTE_MS)
    await refreshIssuers(node.deps)
    expect(await kids(node)).toEqual(['f20'])
  })

  describe.each(['an OAuth issuer', 'a did:web'])('when the document of %s cannot be fetched', (type) => {
    const isOAuth = type === 'an OAuth issuer'
    const setUp = async () => {
      const node = await begin()
      const did = `did:web:${A}`
      if (isOAuth) await add(node)
      else {
        await node.admin('create_site', { body: { site_id: A } })
        node.documents.set(did, [{ id: 'key-1', key: (await newParty()).key.publicKey }])
        await node.admin('add_issuer', { params: { site_id: A }, body: { issuer: did }, caller: keyOf(A) })
      }
      const name = isOAuth ? server.issuer : did
      const document = node.documents.get(did) ?? []
      return {
        node,
        keys: async () => (await node.deps.store.issuer(A, name))?.keys.length,
        break: () => {
          server.answers.set('/keys', { status: 500 })
          node.documents.set(did, 'down')
        },
        repair: () => {
          server.answers.clear()
          node.documents.set(did, document)
        },
        name,
      }
    }

    it('keeps its keys until the limit, then removes them until it can be fetched again', async () => {
      const issuer = await setUp()
      const { node } = issuer
      node.at(HOUR_MS)
      await refreshIssuers(node.deps)
      issuer.break()
      node.at(25 * HOUR_MS)
      await refreshIssuers(node.deps)
      expect(await issuer.keys()).toBe(1)
      node.at(25 * HOUR_MS + 1)
      await refreshIssuers(node.deps)
      expect(await issuer.keys()).toBe(0)
      expect(node.logged.join('')).toContain('removed until they can be')
      issuer.repair()
      node.at(26 * HOUR_MS)
      await refreshIssuers(node.deps)
      expect(await issuer.keys()).toBe(1)
    })

    it('control: a refresh in time keeps them', async () => {
      const issuer = await setUp()
      const { node } = issuer
      node.at(20 * HOUR_MS)
      await refreshIssuers(node.deps)
      issuer.break()
      node.at(43 * HOUR_MS)
      await refreshIssuers(node.deps)
      await refreshIssuer(node.deps, A, issuer.name)
      expect(await issuer.keys()).toBe(1)
    })

    it('keeps the distrust of the operator', async () => {
      const issuer = await setUp()
      const { node } = issuer
      const found = await node.deps.store.issuer(A, issuer.name)
      await node.admin('change_issuer', {
        params: { site_id: A, issuer: found?.issuerId ?? '' },
        body: { status: 'distrusted' },
        caller: keyOf(A),
      })
      issuer.break()
      node.at(100 * HOUR_MS)
      await refreshIssuers(node.deps)
      issuer.repair()
      await refreshIssuers(node.deps)
      expect((await node.deps.store.issuer(A, issuer.name))?.status).toBe('distrusted')
    })
  })

  it('records when a document was accepted, and shows it', async () => {
    const node = await begin()
    const { issuer_id } = await add(node)
    node.at(MINUTE_MS)
    await refreshIssuers(node.deps)
    const shown = await node.admin('get_issuer', {
      params: { site_id: A, issuer: issuer_id },
      caller: keyOf(A),
    })
    expect(shown.body.keys_refreshed_at).toBe('2026-11-14T12:01:00Z')
    expect(await node.deps.store.keySources({ after: undefined, limit: 200 })).toContainEqual({
      source: `${server.issuer} ${server.url}/keys`,
      refreshedAtMs: NOW + MINUTE_MS,
    })
  })

  describe('on the hint of a verifier', () => {
    it('fetches the keys of the issuer, at most once in ten seconds', async () => {
      const node = await begin()
      const { issuer_id } = await add(node)
      const before = fetches()
      server.keys = [newJwk('EC', { kid: 'k2' })]
      node.at(MINUTE_MS)
      await Promise.all([
        refreshIssuer(node.deps, A, server.issuer),
        refreshIssuer(node.deps, A, issuer_id),
        refreshIssuer(node.deps, A, server.issuer),
      ])
      expect(fetches()).toBe(before + 1)
      expect(await kids(node)).toEqual(['k2'])
      node.at(MINUTE_MS + 9_999)
      await refreshIssuer(node.deps, A, server.issuer)
      expect(fetches()).toBe(before + 1)
      node.at(MINUTE_MS + 10_000)
      await refreshIssuer(node.deps, A, server.issuer)
      expect(fetches()).toBe(before + 2)
    })

    it('does not keep the acknowledgement waiting, and fetches once for many hints', async () => {
      const node = await begin()
      await add(node)
      const before = fetches()
      node.at(MINUTE_MS)
      const hints = createRefreshHints(node.deps)
      for (let i = 0; i < 100; i++) hints.hint(A, server.issuer)
      expect(fetches()).toBe(before)
      await expect.poll(fetches).toBe(before + 1)
      await expect.poll(() => node.outcomes).toEqual(['refreshed'])
    })

    it('does nothing for an issuer that the site does not have', async () => {
      const node = await begin()
      await add(node)
      const before = fetches()
      await refreshIssuer(node.deps, A, 'https://idp.example')
      await refreshIssuer(node.deps, newSiteId(), server.issuer)
      expect(fetches()).toBe(before)
    })
  })
})
