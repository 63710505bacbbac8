import { expect, it } from 'vitest'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, NOWHERE, trust } from '../../../node.ts'
import { issued, newParty, newPpid } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('erase_user', (open) => {
  const begin = async () => {
    const [A, B] = [newSiteId(), newSiteId()]
    const store = open()
    const node = await openAdminNode(store, A)
    const issuer = await newParty()
    for (const site_id of [A, B]) {
      await node.admin('create_site', { body: { site_id } })
      await trust(store, site_id, issuer)
    }
    await node.deps.views.waitFor(await store.logPosition())
    const erase = (body: object, caller = keyOf(A), site_id: string = A) =>
      node.ask('erase_user', { params: { site_id }, body, caller })
    return { node, issuer, erase, A, B }
  }
  const items = async (node: AdminNode, id: 'list_credentials' | 'list_tokens' | 'list_audit') =>
    (await node.admin(id, { params: { site_id: node.home }, query: 'limit=200' })).body.items

  it('signs the user out and removes what is known, for this user only', async () => {
    const { node, issuer, erase, A } = await begin()
    const [one, two] = [await issued(issuer, { siteId: A }), await issued(issuer, { siteId: A })]
    const [first, second] = [await node.tokenFor(one.document), await node.tokenFor(two.document)]
    await node.revokeCredential(newPpid().replace('did:service:ppid_', 'cred_'), { reason: 'other' })
    const answer = await erase({ ppid: one.ppid })
    expect(answer).toMatchObject({
      status: 200,
      body: { dry_run: false, ppids: [one.ppid], credentials: 1, tokens: 1, audit_rows: 1 },
    })
    expect((await node.context(one.header)).code).toBe('credential_revoked')
    expect((await node.context(two.header)).status).toBe(200)
    expect((await node.introspect(first)).body).toEqual({ active: false })
    expect((await node.introspect(second)).body.active).toBe(true)
    for (const id of ['list_credentials', 'list_tokens', 'list_audit'] as const) {
      const text = JSON.stringify(await items(node, id))
      expect(text).not.toContain(one.ppid)
      expect(text).not.toContain(one.id)
      if (id !== 'list_audit') expect(text).toContain(two.id)
    }
    expect(await items(node, 'list_audit')).toContainEqual(
      expect.objectContaining({
        action: 'user.erase',
        target: 'erased',
        actor: { type: 'api_key', id: `key_${A}` },
      }),
    )
    // Unknown is not active: a known credential of this user was revoked before, and still is.
    expect((await node.status(one.id, keyOf(A))).body.statuses[one.id]).toMatchObject({ status: 'unknown' })
  })

  it('a dry run counts, and changes nothing', async () => {
    const { node, issuer, erase, A } = await begin()
    const one = await issued(issuer, { siteId: A })
    await node.tokenFor(one.document)
    const { head } = node.deps.views.view(A) ?? {}
    const before = await items(node, 'list_audit')
    expect(await erase({ ppid: one.ppid, dry_run: true })).toMatchObject({
      status: 200,
      body: { dry_run: true, credentials: 1, tokens: 1, seq: head?.seq },
    })
    expect(node.deps.views.view(A)?.head).toEqual(head)
    expect(await items(node, 'list_audit')).toEqual(before)
    expect((await node.context(one.header)).status).toBe(200)
  })

  it('erases all ids of a user_ref, who needs a new credential afterwards', async () => {
    const { node, erase, A } = await begin()
    const issue = () =>
      node.admin('issue_credential', { body: { site_id: A, user_ref: 'alice', scope: ['orders:read'] } })
    const { body: old } = await issue()
    expect((await node.show(old.credential)).status).toBe(200)
    const { body } = await erase({ user_ref: 'alice' })
    expect(body.ppids).toHaveLength(2)
    expect(body.ppids).toContain(old.ppid)
    expect((await node.show(old.credential)).code).toBe('credential_revoked')
    await node.later(2000)
    const { body: next } = await issue()
    expect((await node.show(next.credential)).status).toBe(200)
    expect((await node.show(old.credential)).code).toBe('credential_revoked')
  })

  it('a revoked user stays revoked', async () => {
    const { node, issuer, erase, A } = await begin()
    const one = await issued(issuer, { siteId: A })
    expect((await node.context(one.header)).status).toBe(200)
    await node.revokeUser(one.ppid, { reason: 'fraud of Jane Doe' })
    await erase({ ppid: one.ppid })
    await node.later(5000)
    const later = await issued(issuer, { siteId: A, ppid: one.ppid, createdMs: node.clock.nowMs() - 1000 })
    expect((await node.context(later.header)).code).toBe('credential_revoked')
    expect((await node.revokeUser(one.ppid)).body).toMatchObject({
      already_revoked: true,
      credential_ids: [],
    })
  })

  it('needs site:admin and a key of the site, and exactly one user', async () => {
    const { erase, A, B } = await begin()
    const ppid = newPpid()
    const limited = { ...keyOf(A), permissions: ['credentials:revoke', 'credentials:reinstate'] }
    expect((await erase({ ppid }, limited as ReturnType<typeof keyOf>)).code).toBe('api_key_forbidden')
    expect((await erase({ ppid }, keyOf(B))).code).toBe('not_found')
    expect((await erase({ ppid }, keyOf(NOWHERE), NOWHERE)).code).toBe('not_found')
    expect((await erase({})).code).toBe('validation_failed')
    expect((await erase({ ppid, user_ref: 'alice' })).code).toBe('validation_failed')
    expect((await erase({ ppid, reason: 'asked for it' })).code).toBe('validation_failed')
  })

  it('is repeated with the same answer for the same Idempotency-Key', async () => {
    const { node, issuer, A } = await begin()
    const one = await issued(issuer, { siteId: A })
    await node.tokenFor(one.document)
    const ask = () =>
      node.ask('erase_user', {
        params: { site_id: A },
        body: { ppid: one.ppid },
        caller: keyOf(A),
        fields: { 'idempotency-key': 'erase-1-of-this-test' },
      })
    const first = await ask()
    expect(first.body).toMatchObject({ credentials: 1 })
    expect((await ask()).body).toEqual(first.body)
  })
})
