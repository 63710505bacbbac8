import type { Permission } from '@countersign/core/contract'
import { limits } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/answer.ts'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, trust } from '../../../node.ts'
import { issued, NOW, newParty, newPpid } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('users', (open) => {
  const begin = async () => {
    const store = open()
    const A = newSiteId()
    const node = await openAdminNode(store, A)
    const issuer = await newParty()
    await node.admin('create_site', { body: { site_id: A } })
    await trust(store, A, issuer)
    await node.deps.views.waitFor(await store.logPosition())
    const list = async (query = '', caller: Caller = keyOf(A)) =>
      node.ask('list_users', { params: { site_id: A }, query, caller })
    const get = async (ppid: string, caller: Caller = keyOf(A)) =>
      node.ask('get_user', { params: { site_id: A, ppid }, caller })
    const signOut = async (ppid: string, reason?: string) =>
      node.ask('sign_out_user', { caller: keyOf(A), body: { ppid, site_id: A, ...(reason && { reason }) } })
    return { store, A, node, issuer, list, get, signOut }
  }
  const names = ({ body }: { body: { items: { ppid: string }[] } }) => body.items.map(({ ppid }) => ppid)
  const headSeq = ({ deps }: AdminNode, siteId: ReturnType<typeof newSiteId>) =>
    deps.views.view(siteId)?.head.seq

  it('lists those that the log names, the last change first, by status', async () => {
    const { node, list, signOut } = await begin()
    const [ann, bob, cat] = [newPpid(), newPpid(), newPpid()]
    const { seq } = (await node.revokeUser(ann, { reason: 'left' })).body
    await signOut(bob, 'lost phone')
    await node.revokeUser(cat)
    await node.reinstate(cat)
    expect(names(await list())).toEqual([cat, bob, ann])
    expect(names(await list('status=active'))).toEqual([cat, bob])
    const { body } = await list('status=revoked')
    expect(body).toEqual({
      items: [
        {
          ppid: ann,
          status: 'revoked',
          revoked_at: '2026-11-14T12:00:00Z',
          reason: 'left',
          last_entry: { seq, kind: 'user.revoked', at: '2026-11-14T12:00:00Z', reason: 'left' },
        },
      ],
      next_cursor: null,
    })
    // A revoked user who is signed out stays revoked, and is the last to have changed.
    await signOut(ann)
    expect((await list('status=revoked')).body.items).toMatchObject([
      { ppid: ann, reason: 'left', last_entry: { kind: 'user.signed_out', reason: null } },
    ])
    expect(names(await list())).toEqual([ann, cat, bob])
    await node.reinstate(ann)
    expect(names(await list('status=revoked'))).toEqual([])
  })

  it('lists page by page', async () => {
    const { node, list } = await begin()
    const all = Array.from({ length: 5 }, newPpid)
    for (const ppid of all) await node.revokeUser(ppid)
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await list(`status=revoked&limit=2${cursor}`)
      found.push(...names({ body }))
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(found).toEqual(all.reverse())
    expect((await list('cursor=abc')).code).toBe('cursor_malformed')
    expect((await list('status=unknown')).code).toBe('validation_failed')
  })

  it('shows the state of a user, with why and since when, and the history', async () => {
    const { node, A, get, signOut, issuer } = await begin()
    const ppid = newPpid()
    const [made, other] = [
      await issued(issuer, { siteId: A, ppid }),
      await issued(issuer, { siteId: A, ppid }),
    ]
    for (const { document } of [made, made, other]) await node.tokenFor(document)
    const { body: before } = await get(ppid)
    expect(before).toEqual({
      site_id: A,
      ppid,
      status: 'active',
      revoked_at: null,
      reason: null,
      credentials: { count: 2, complete: true },
      tokens: { count: 3, complete: true },
      history: [],
      history_complete: true,
      epoch: node.deps.store.epoch,
      seq: headSeq(node, A),
    })
    await node.revokeCredential(other.id)
    expect((await get(ppid)).body).toMatchObject({ credentials: { count: 1 }, tokens: { count: 2 } })
    await signOut(ppid, 'lost phone')
    expect((await get(ppid)).body).toMatchObject({
      status: 'active',
      credentials: { count: 0 },
      tokens: { count: 0 },
    })
    await node.later(5000)
    await node.revokeUser(ppid, { reason: 'left' })
    const { body } = await get(ppid)
    expect(body).toMatchObject({
      status: 'revoked',
      revoked_at: '2026-11-14T12:00:05Z',
      reason: 'left',
      history: [
        { kind: 'user.revoked', at: '2026-11-14T12:00:05Z', reason: 'left', seq: body.seq },
        { kind: 'user.signed_out', at: '2026-11-14T12:00:00Z', reason: 'lost phone' },
      ],
    })
  })

  it('a history has a bound', async () => {
    const { A, store, get } = await begin()
    const ppid = newPpid() as Parameters<typeof store.userEntries>[1]
    const context = { actor: 'operator', atMs: NOW, requestId: undefined }
    const count = limits.user_entries_listed_max + 1
    for (let i = 0; i < count; i++)
      await store.signOutUsers({ siteId: A, ppids: [ppid], beforeMs: NOW, reason: undefined }, context)
    const { body } = await get(ppid)
    expect(body).toMatchObject({ history_complete: false })
    expect(body.history).toHaveLength(count - 1)
  })

  it('a row that another program changed changes no state: the log decides (A271)', async () => {
    const { A, node, store, list, get } = await begin()
    const [ann, bob] = [newPpid(), newPpid()]
    await node.revokeUser(ann)
    await node.revokeUser(bob)
    await node.reinstate(bob)
    const { knownUsers } = store
    // As if the store called the revoked user active, and the other one revoked.
    store.knownUsers = (siteId, { isRevoked }, page) =>
      knownUsers(siteId, { isRevoked: isRevoked === undefined ? undefined : !isRevoked }, page)
    expect(names(await list('status=active'))).toEqual([])
    expect(names(await list('status=revoked'))).toEqual([])
    expect((await list()).body.items).toMatchObject([{ status: 'active' }, { status: 'revoked' }])
    expect((await get(ann)).body.status).toBe('revoked')
    expect((await get(bob, keyOf(A))).body.status).toBe('active')
  })

  it('an erasure removes the reasons, and keeps that the user is revoked', async () => {
    const { A, node, get } = await begin()
    const ppid = newPpid()
    await node.revokeUser(ppid, { reason: 'Ann has left' })
    await node.admin('erase_user', { params: { site_id: A }, body: { ppid } })
    const { body } = await get(ppid)
    expect(body).toMatchObject({ status: 'revoked', reason: null })
    expect(body.history.map(({ reason }: { reason: unknown }) => reason)).toEqual([null, null])
  })

  it('needs a key of the site that may read, and fresh data', async () => {
    const { A, node, list, get } = await begin()
    const ppid = newPpid()
    const other = newSiteId()
    await node.admin('create_site', { body: { site_id: other } })
    const withPermissions = (...permissions: Permission[]): Caller => ({ ...keyOf(A), permissions }) as Caller
    for (const ask of [list.bind(null, ''), get.bind(null, ppid)] as const) {
      expect((await ask(keyOf(other))).code).toBe('not_found')
      expect((await ask(withPermissions('credentials:revoke', 'feed:read'))).code).toBe('api_key_forbidden')
      expect((await ask(withPermissions('site:read'))).status).toBe(200)
    }
    expect((await get('alice')).code).toBe('not_found')
    node.deps.store.entriesAfter = () => Promise.reject(new StoreUnavailable('down'))
    node.clock.pass(2001)
    for (const ask of [list.bind(null, ''), get.bind(null, ppid)] as const)
      expect((await ask()).code).toBe('revocation_view_stale')
  })

  it('entries older than the log is kept are removed, except the last one about a revoked user', async () => {
    const { node, store, get, list, signOut } = await begin()
    const [ann, bob] = [newPpid(), newPpid()]
    await signOut(ann)
    await node.revokeUser(ann, { reason: 'left' })
    await signOut(bob)
    expect(await store.removeOldUserEntries(NOW, 10)).toBe(0)
    while ((await store.removeOldUserEntries(NOW + 1, 1)) > 0);
    expect(names(await list())).toEqual([ann])
    expect((await get(ann)).body).toMatchObject({ status: 'revoked', history: [{ reason: 'left' }] })
    expect((await get(bob)).body.history).toEqual([])
  })
})
