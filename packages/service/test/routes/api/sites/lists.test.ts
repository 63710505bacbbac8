import { beforeEach, expect, it } from 'vitest'
import { updateAllStatuses } from '../../../../src/actions/list-statuses.ts'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { unreadableEntry } from '../../../../src/store/log-corrupted.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, NOWHERE, trust } from '../../../node.ts'
import { delegated, issued, type Made, NOW, newParty, newPpid, type Party } from '../../../party.ts'
import { seen } from '../../../store/fixtures.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('lists', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
  })

  const begin = async (): Promise<{ node: AdminNode; issuer: Party }> => {
    const store = open()
    const node = await openAdminNode(store, A)
    const issuer = await newParty()
    for (const site_id of [A, B]) {
      await node.admin('create_site', { body: { site_id } })
      await trust(store, site_id, issuer)
    }
    await node.deps.views.waitFor(await store.logPosition())
    return { node, issuer }
  }
  const list = async (
    node: AdminNode,
    id: 'list_credentials' | 'list_tokens' | 'list_audit',
    query = '',
    caller = keyOf(A),
  ) => (await node.admin(id, { params: { site_id: A }, query, caller })).body
  const ids = (page: { items: { credential_id: string }[] }) => page.items.map((item) => item.credential_id)
  const shown = async (
    node: AdminNode,
    issuer: Party,
    more: Partial<Parameters<typeof issued>[1]> = {},
  ): Promise<Made> => {
    const made = await issued(issuer, { siteId: A, ...more })
    expect((await node.exchange(made.document)).status).toBe(200)
    return made
  }

  it('credentials: all that is known of each', async () => {
    const { node, issuer } = await begin()
    const { id, ppid } = await shown(node, issuer)
    expect(await list(node, 'list_credentials')).toEqual({
      items: [
        {
          credential_id: id,
          ppid,
          issuer: issuer.did,
          scope: ['orders:read', 'orders:write'],
          permission_id: 'perm_orders',
          status: 'active',
          holder_bound: false,
          valid_from: '2026-11-14T11:59:00Z',
          expires_at: '2026-11-14T13:00:00Z',
          first_seen_at: '2026-11-14T12:00:00Z',
          revoked_at: null,
          revocation_type: null,
          reason: null,
        },
      ],
      next_cursor: null,
    })
  })

  it('credentials, tokens: say nothing of what is revoked when the log is damaged, or has not been heard of (I-18)', async () => {
    const { node, issuer } = await begin()
    await shown(node, issuer)
    const params = { params: { site_id: A }, caller: keyOf(A) }
    const damaged = open()
    damaged.entriesAfter = () => Promise.reject(unreadableEntry(1))
    const blind = await openAdminNode(damaged, A)
    for (const id of ['list_credentials', 'list_tokens'] as const) {
      expect((await node.admin(id, params)).status).toBe(200)
      expect((await blind.admin(id, params)).code).toBe('store_unavailable')
    }
    node.deps.store.entriesAfter = () => Promise.reject(new StoreUnavailable('down'))
    node.clock.pass(2001)
    for (const id of ['list_credentials', 'list_tokens'] as const)
      expect((await node.admin(id, params)).code).toBe('store_unavailable')
  })

  it('credentials: by user and by status, which agrees with what verifying says', async () => {
    const { node, issuer } = await begin()
    const ppid = newPpid()
    const [one, two, three] = [
      await shown(node, issuer, { ppid }),
      await shown(node, issuer, { ppid }),
      await shown(node, issuer),
    ]
    await node.revokeCredential(two.id, { reason: 'lost phone' })
    expect(ids(await list(node, 'list_credentials', `ppid=${ppid}`)).sort()).toEqual([one.id, two.id].sort())
    const { items } = await list(node, 'list_credentials', `ppid=${ppid}&status=revoked`)
    expect(items).toMatchObject([
      {
        credential_id: two.id,
        status: 'revoked',
        revocation_type: 'credential',
        reason: 'lost phone',
        revoked_at: '2026-11-14T12:00:00Z',
      },
    ])
    expect(ids(await list(node, 'list_credentials', 'status=active')).sort()).toEqual(
      [one.id, three.id].sort(),
    )
    await node.revokeUser(ppid)
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([three.id])
    await node.later(3_600_000)
    expect(ids(await list(node, 'list_credentials', 'status=expired'))).toEqual([three.id])
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([])
    expect(
      await node.admin('list_credentials', { params: { site_id: A }, query: 'status=unknown' }),
    ).toMatchObject({ status: 422 })
  })

  it('credentials: a delegated one is revoked with its parent', async () => {
    const { node, issuer } = await begin()
    const [holder, agent] = [await newParty(), await newParty()]
    const parent = await issued(issuer, { siteId: A, holderKey: holder.did, delegable: true })
    const child = await delegated(parent, holder, agent)
    expect((await node.exchange(child.document, {}, { holder: agent })).status).toBe(200)
    await node.revokeCredential(parent.id)
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([])
    expect(ids(await list(node, 'list_credentials', 'status=revoked'))).toContain(child.id)
  })

  it('credentials: by status, no page is short before the last, however many have another status', {
    tags: 'long',
  }, async () => {
    const { node } = await begin()
    const few = [...Array(5)].map(() => seen(A, { validUntilMs: NOW - 1000 }))
    const many = [...Array(1500)].map(() => seen(A, { validUntilMs: NOW + 3_600_000 }))
    const { store } = node.deps
    await store.recordCredentials(few.slice(0, 2), NOW - 3000)
    for (let i = 0; i < many.length; i += 500)
      await store.recordCredentials(many.slice(i, i + 500), NOW - 2000)
    await store.recordCredentials(few.slice(2), NOW - 1000)
    await updateAllStatuses(node.deps)
    const pages: string[][] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await list(
        node,
        'list_credentials',
        `status=expired&limit=2${cursor && `&cursor=${cursor}`}`,
      )
      pages.push(ids(page))
      cursor = page.next_cursor
    }
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
    expect(pages.flat().sort()).toEqual(few.map(({ credentialId }) => credentialId).sort())
    expect(await list(node, 'list_credentials', 'status=revoked')).toEqual({ items: [], next_cursor: null })
  })

  it('credentials: by status agrees with the view after every kind of revocation', async () => {
    const { node, issuer } = await begin()
    const holder = await newParty()
    const [byHolder, byUser, bySignOut, byId] = [
      await issued(issuer, { siteId: A, holderKey: holder.did }),
      await shown(node, issuer),
      await shown(node, issuer),
      await shown(node, issuer),
    ]
    expect((await node.exchange(byHolder.document, {}, { holder })).status).toBe(200)
    const revoked = async () => ids(await list(node, 'list_credentials', 'status=revoked'))
    expect(await revoked()).toEqual([])
    await node.revokeUser(byUser.ppid)
    expect(await revoked()).toEqual([byUser.id])
    await node.revokeCredential(byId.id)
    expect((await revoked()).sort()).toEqual([byUser.id, byId.id].sort())
    await node.admin('sign_out_user', { body: { site_id: A, ppid: bySignOut.ppid } })
    expect((await revoked()).sort()).toEqual([byUser.id, byId.id, bySignOut.id].sort())
    await node.admin('revoke_holder', { params: { site_id: A }, body: { holder_key: holder.did } })
    expect((await revoked()).sort()).toEqual([byUser.id, byId.id, bySignOut.id, byHolder.id].sort())
    node.clock.pass(2000)
    const later = await shown(node, issuer, { createdMs: NOW + 1000 })
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([later.id])
    node.clock.pass(2000)
    await node.admin('cut_off_issuer', { params: { site_id: A }, body: { issuer: issuer.did } })
    expect(await revoked()).toHaveLength(5)
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([])
    await node.reinstate(byUser.ppid)
    expect(await revoked()).toContain(byUser.id)
  })

  it('credentials: a stored status that the view does not confirm is corrected, and not shown', async () => {
    const { node, issuer } = await begin()
    const [one, two] = [await shown(node, issuer), await shown(node, issuer)]
    await node.revokeUser(two.ppid)
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([one.id])
    const { seq } = node.deps.views.view(A)?.head ?? { seq: 0 }
    const wrong = [
      { credentialId: one.id, status: 'revoked' },
      { credentialId: two.id, status: 'active' },
    ] as unknown as Parameters<typeof node.deps.store.classifyCredentials>[2]
    expect(await node.deps.store.classifyCredentials(A, seq - 1, wrong)).toBe(false)
    expect(await node.deps.store.classifyCredentials(A, seq, wrong)).toBe(true)
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([])
    expect(ids(await list(node, 'list_credentials', 'status=revoked'))).toEqual([two.id])
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toEqual([one.id])
  })

  it('credentials: by status also when the entries were cut from the log, or very many are to be classified', {
    tags: 'long',
  }, async () => {
    const { node, issuer } = await begin()
    const [one, two] = [await shown(node, issuer), await shown(node, issuer)]
    expect(ids(await list(node, 'list_credentials', 'status=active'))).toHaveLength(2)
    node.deps.store.siteEntriesAfter = async () => []
    await node.revokeUser(two.ppid)
    expect(ids(await list(node, 'list_credentials', 'status=revoked'))).toEqual([two.id])
    // More than one request classifies: pages can then be short, but together they are whole.
    const many = [...Array(1500)].map(() => seen(A, { validUntilMs: NOW - 1000 }))
    for (let i = 0; i < many.length; i += 500)
      await node.deps.store.recordCredentials(many.slice(i, i + 500), NOW + 1000)
    const found: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await list(
        node,
        'list_credentials',
        `status=active&limit=50${cursor && `&cursor=${cursor}`}`,
      )
      found.push(...ids(page))
      cursor = page.next_cursor
    }
    expect(found).toEqual([one.id])
  })

  it('credentials: a cursor stays valid when its row is removed', async () => {
    const { node, issuer } = await begin()
    for (let i = 0; i < 3; i++) {
      node.clock.pass(1)
      await shown(node, issuer)
    }
    const all = ids(await list(node, 'list_credentials'))
    const { next_cursor } = await list(node, 'list_credentials', 'limit=1')
    node.deps.store.credentials = async (siteId, filter, page) =>
      (await open().credentials(siteId, filter, page)).filter(({ credentialId }) => credentialId !== all[0])
    expect(ids(await list(node, 'list_credentials', `cursor=${next_cursor}`))).toEqual(all.slice(1))
  })

  it('tokens: by user, without the tokens', async () => {
    const { node, issuer } = await begin()
    const [one, two] = [await issued(issuer, { siteId: A }), await issued(issuer, { siteId: A })]
    const [first, second] = [await node.tokenFor(one.document), await node.tokenFor(two.document)]
    const { items } = await list(node, 'list_tokens', `ppid=${one.ppid}`)
    expect(items).toEqual([
      {
        token_id: expect.stringMatching(/^tok_/),
        ppid: one.ppid,
        credential_id: one.id,
        scope: ['orders:read', 'orders:write'],
        permission_id: 'perm_orders',
        status: 'active',
        issued_at: '2026-11-14T12:00:00Z',
        expires_at: '2026-11-14T12:15:00Z',
        revoked_at: null,
      },
    ])
    await node.revokeUser(one.ppid)
    expect((await list(node, 'list_tokens', `ppid=${one.ppid}`)).items).toMatchObject([
      { status: 'revoked', revoked_at: '2026-11-14T12:00:00Z' },
    ])
    node.clock.pass(900_000)
    const all = await list(node, 'list_tokens')
    expect(all.items.map(({ status }: { status: string }) => status).sort()).toEqual(['expired', 'revoked'])
    for (const token of [first, second]) expect(JSON.stringify(all)).not.toContain(token.slice(7, 20))
  })

  it('tokens: agree with introspection when the issuer or its key is out of favour', async () => {
    const { node, issuer } = await begin()
    const token = await node.tokenFor((await issued(issuer, { siteId: A })).document)
    const agree = async (status: string) => {
      expect((await list(node, 'list_tokens')).items).toMatchObject([{ status, revoked_at: null }])
      expect((await node.introspect(token)).body.active).toBe(status === 'active')
    }
    const change = (body: object) =>
      node.admin('change_issuer', { params: { site_id: A, issuer: issuer.did }, body })
    await agree('active')
    await change({ status: 'distrusted' })
    await agree('revoked')
    await change({ status: 'trusted' })
    await agree('active')
    await node.admin('change_issuer_key', {
      params: { site_id: A, issuer: issuer.did, key: issuer.keyId },
      body: { status: 'compromised' },
    })
    await agree('revoked')
  })

  it('tokens: agree with introspection when the site takes no bearer tokens any more', async () => {
    const { node, issuer } = await begin()
    const token = await node.tokenFor((await issued(issuer, { siteId: A })).document)
    await node.admin('change_site', { params: { site_id: A }, body: { bearer: 'off' } })
    expect((await list(node, 'list_tokens')).items).toMatchObject([{ status: 'revoked' }])
    expect((await node.introspect(token)).body).toEqual({ active: false })
  })

  it('audit: the newest first, with who, what and why', async () => {
    const { node, issuer } = await begin()
    const { id } = await shown(node, issuer)
    await node.revokeCredential(id, { reason: 'lost phone' })
    await node.revokeCredential(id)
    const { items } = await list(node, 'list_audit')
    expect(items[1]).toMatchObject({
      action: 'credential.revoke',
      target: id,
      outcome: 'done',
      reason: 'lost phone',
      actor: { type: 'api_key', id: `key_${A}` },
      request_id: 'req_1',
    })
    expect(items[1].seq).toBeGreaterThan(0)
    expect(items[0]).toMatchObject({ target: id, outcome: 'unchanged', seq: null })
    expect(items.find(({ action }: { action: string }) => action === 'site.create')).toMatchObject({
      actor: { type: 'operator', id: 'key_operator' },
    })
  })

  it('all of them page by page, each row once', async () => {
    const { node, issuer } = await begin()
    const ppid = newPpid()
    for (let i = 0; i < 5; i++) {
      node.clock.pass(i % 2)
      await shown(node, issuer, { ppid })
    }
    for (const id of ['list_credentials', 'list_tokens', 'list_audit'] as const) {
      const filter = id === 'list_audit' ? '' : `&ppid=${ppid}`
      const all = (await list(node, id, `limit=200${filter}`)).items
      const seen: unknown[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await list(node, id, `limit=2${filter}${cursor && `&cursor=${cursor}`}`)
        expect(page.items.length).toBeLessThanOrEqual(2)
        seen.push(...page.items)
        cursor = page.next_cursor
      }
      expect(seen).toEqual(all)
      expect(all.length).toBeGreaterThan(2)
    }
  })

  it('a cursor is of no use for another list or another site', async () => {
    const { node, issuer } = await begin()
    for (let i = 0; i < 2; i++) await shown(node, issuer)
    const { next_cursor } = await list(node, 'list_credentials', 'limit=1')
    expect(
      await node.admin('list_tokens', { params: { site_id: A }, query: `cursor=${next_cursor}` }),
    ).toMatchObject({
      status: 400,
      code: 'cursor_malformed',
    })
    expect(
      await node.admin('list_credentials', { params: { site_id: B }, query: `cursor=${next_cursor}` }),
    ).toMatchObject({
      status: 400,
      code: 'cursor_malformed',
    })
  })

  it('I-15: a site sees nothing of another, and cannot tell that it is there', async () => {
    const { node, issuer } = await begin()
    await shown(node, issuer)
    for (const id of ['list_credentials', 'list_tokens', 'list_audit'] as const) {
      for (const site_id of [A, NOWHERE]) {
        expect((await node.admin(id, { params: { site_id }, caller: keyOf(B) })).code).toBe('not_found')
      }
      expect((await node.admin(id, { params: { site_id: NOWHERE } })).status).toBe(404)
    }
    expect((await node.admin('list_credentials', { params: { site_id: B } })).body.items).toEqual([])
    expect((await node.admin('list_tokens', { params: { site_id: B } })).body.items).toEqual([])
  })

  it('A226: hostile text is refused or taken literally', async () => {
    const { node } = await begin()
    for (const text of [
      "' OR 1=1 --",
      '%',
      '_',
      '\\',
      'a\u0000b',
      '\u202Ecod',
      '"; DROP TABLE sites; --',
      '$1',
      '\u{1F600}'.repeat(50),
    ]) {
      const q = encodeURIComponent(text)
      expect(
        (await node.admin('list_credentials', { params: { site_id: A }, query: `ppid=${q}` })).status,
      ).toBe(422)
      expect(
        (await node.admin('list_credentials', { params: { site_id: A }, query: `cursor=${q}` })).status,
      ).toBe(400)
      expect((await node.admin('read_site', { params: { site_id: text } })).status).toBe(404)
      expect((await node.admin('delete_key', { params: { site_id: A, key_id: text } })).status).toBe(404)
      const named = await node.admin('change_site', { params: { site_id: A }, body: { name: text } })
      if (named.status === 200)
        expect((await node.admin('read_site', { params: { site_id: A } })).body.name).toBe(text)
      else expect(named.status).toBe(422)
    }
    expect(await list(node, 'list_credentials')).toEqual({ items: [], next_cursor: null })
  })

  it('A236: no secret is in any answer, log line or audit row', async () => {
    const { node, issuer } = await begin()
    const { body: key } = await node.admin('create_key', {
      params: { site_id: A },
      body: { permissions: ['feed:read'] },
    })
    const { body: credential } = await node.admin('issue_credential', {
      body: { site_id: A, user_ref: 'canary-user', scope: ['orders:read'] },
    })
    const { document } = await issued(issuer, { siteId: A })
    const token = await node.tokenFor(document)
    const site = await node.deps.store.site(A)
    const secrets = [
      key.api_key,
      token,
      'canary-user',
      site?.pairwiseSecretSealed,
      node.deps.keys.open(`pairwise:${A}`, site?.pairwiseSecretSealed ?? ''),
      credential.credential.proof.proofValue,
    ]
    const told = [
      node.logged,
      await list(node, 'list_audit', 'limit=200'),
      await list(node, 'list_credentials'),
      await list(node, 'list_tokens'),
    ]
    for (const id of ['list_keys', 'list_issuers'] as const)
      told.push((await node.admin(id, { params: { site_id: A } })).body)
    told.push((await node.admin('list_sites')).body, node.deps.keys.didDocument(), node.deps.keys.jwks())
    const all = JSON.stringify(told)
    for (const secret of secrets) expect(all).not.toContain(secret)
  })
})
