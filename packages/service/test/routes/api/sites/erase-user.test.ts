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

  it.each([false, true])(
    'A148: stops when the key of the caller is deleted meanwhile (dry run: %s)',
    async (dry_run) => {
      const { node, issuer, A } = await begin()
      const params = { site_id: A }
      const one = await issued(issuer, { siteId: A })
      await node.tokenFor(one.document)
      await node.revokeCredential(one.id, { reason: 'first' })
      const { body: key } = await node.admin('create_key', { params, body: { permissions: ['site:admin'] } })
      const { store } = node.deps
      const { selectAuditRows } = store
      store.selectAuditRows = async (...args) => {
        store.selectAuditRows = selectAuditRows
        await node.admin('delete_key', { params: { ...params, key_id: key.key_id } })
        return selectAuditRows(...args)
      }
      const fields = { 'x-api-key': key.api_key }
      const body = { ppid: one.ppid, dry_run }
      expect((await node.ask('erase_user', { params, body, fields })).code).toBe('api_key_invalid')
      for (const id of ['list_credentials', 'list_tokens', 'list_audit'] as const)
        expect(JSON.stringify(await items(node, id))).toContain(one.id)
    },
  )

  it('A148: leaves an audit row with the actor when it stops halfway', async () => {
    const { node, issuer, A } = await begin()
    const params = { site_id: A }
    const one = await issued(issuer, { siteId: A })
    await node.revokeCredential(one.id, { reason: 'first' })
    const { body: key } = await node.admin('create_key', { params, body: { permissions: ['site:admin'] } })
    const { store } = node.deps
    const { eraseAuditRows } = store
    store.eraseAuditRows = async (...args) => {
      store.eraseAuditRows = eraseAuditRows
      await eraseAuditRows(...args)
      await node.admin('delete_key', { params: { ...params, key_id: key.key_id } })
    }
    const fields = { 'x-api-key': key.api_key }
    const stopped = await node.ask('erase_user', { params, body: { ppid: one.ppid }, fields })
    expect(stopped.code).toBe('api_key_invalid')
    const all: readonly { readonly action: string }[] = await items(node, 'list_audit')
    const rows = all.filter(({ action }) => action.startsWith('user.erase'))
    expect(rows).toMatchObject([
      { action: 'user.erase_start', target: 'erased', actor: { type: 'api_key', id: key.key_id } },
    ])
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

  /** Audit rows of the user, and as many of other users, at the site; more than fit on a page. */
  const addRows = async (node: AdminNode, ppid: string, count = 250) => {
    const add = (target: string, i: number) =>
      node.deps.store.audit({
        siteId: node.home,
        action: 'user.revoke',
        target,
        detail: {},
        context: { actor: 'test', atMs: node.clock.nowMs() + i },
      })
    await Promise.all(Array.from({ length: 2 * count }, (_, i) => add(i % 2 ? ppid : newPpid(), i)))
  }

  it.each([true, false])(
    'A372: reads the audit in small pages, each in a turn of its own (dry run: %s)',
    async (dry_run) => {
      const { node, erase } = await begin()
      const { store } = node.deps
      const ppid = newPpid()
      await addRows(node, ppid)
      const { selectAuditRows } = store
      let turn = 0
      let isOver = false
      const nextTurn = () => {
        turn++
        if (!isOver) setImmediate(nextTurn)
      }
      setImmediate(nextTurn)
      const turns: number[] = []
      const sizes: number[] = []
      store.selectAuditRows = async (selection, page) => {
        turns.push(turn)
        sizes.push(page.limit)
        return selectAuditRows(selection, page)
      }
      const { body } = await erase({ ppid, dry_run })
      isOver = true
      // The sign-out has a row, too.
      expect(body.audit_rows).toBe(dry_run ? 250 : 251)
      expect(turns.length).toBeGreaterThan(5)
      expect(new Set(turns).size).toBe(turns.length)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
    },
  )

  it('A372: one runs at a time for a site, and four on a node; others are rejected at once', async () => {
    const { node, erase, A, B } = await begin()
    const { store, erasures } = node.deps
    const { selectAuditRows, signOutUsers, beginIdempotent } = store
    const gate = Promise.withResolvers<void>()
    const calls = { read: 0, signedOut: 0, kept: 0 }
    store.selectAuditRows = async (...order) => {
      calls.read++
      await gate.promise
      return selectAuditRows(...order)
    }
    store.signOutUsers = (...order) => {
      calls.signedOut++
      return signOutUsers(...order)
    }
    store.beginIdempotent = (...key) => {
      calls.kept++
      return beginIdempotent(...key)
    }
    const ppid = newPpid()
    const first = erase({ ppid, dry_run: true })
    await expect.poll(() => calls.read).toBe(1)
    for (const body of [{ ppid, dry_run: true }, { ppid }, { user_ref: 'alice' }]) {
      const rejected = await erase(body)
      expect([rejected.code, rejected.headers['retry-after']]).toEqual(['rate_limited', '1'])
    }
    const keyed = await node.ask('erase_user', {
      params: { site_id: A },
      body: { ppid },
      caller: keyOf(A),
      fields: { 'idempotency-key': 'erase-2-of-this-test' },
    })
    expect(keyed.code).toBe('rate_limited')
    const ends = ['a.example', 'b.example', 'c.example'].map((site) => erasures.begin(site))
    expect((await erase({ ppid, dry_run: true }, keyOf(B), B)).code).toBe('rate_limited')
    expect(calls).toEqual({ read: 1, signedOut: 0, kept: 0 })
    for (const end of ends) end()
    gate.resolve()
    expect((await first).status).toBe(200)
    expect((await erase({ ppid, dry_run: true }, keyOf(B), B)).status).toBe(200)
    expect(erasures.size).toBe(0)
  })

  it('one that fails makes room for the next', async () => {
    const { node, erase } = await begin()
    const { store, erasures } = node.deps
    const { selectAuditRows } = store
    store.selectAuditRows = async () => {
      throw new Error('on purpose')
    }
    const body = { ppid: newPpid() }
    await expect(erase(body)).rejects.toThrow('erase_user has failed')
    expect(erasures.size).toBe(0)
    store.selectAuditRows = selectAuditRows
    expect((await erase(body)).status).toBe(200)
  })

  it('also erases rows that are added while it reads, with those of a credential that is new', async () => {
    const { node, erase, A } = await begin()
    const { store } = node.deps
    const ppid = newPpid()
    await addRows(node, ppid)
    const { selectAuditRows } = store
    const credentialId = newPpid().replace('did:service:ppid_', 'cred_')
    let pages = 0
    store.selectAuditRows = async (selection, page) => {
      const found = await selectAuditRows(selection, page)
      const isOfAll = selection.siteId === A && selection.by === undefined
      if (isOfAll && ++pages === 2)
        for (const [i, { action, target }] of [
          { action: 'credential.issue', target: credentialId },
          { action: 'credential.revoke', target: credentialId },
          { action: 'user.revoke', target: ppid },
        ].entries())
          await store.audit({
            siteId: A,
            action,
            target,
            detail: action === 'credential.issue' ? { ppid } : {},
            context: { actor: 'test', atMs: node.clock.nowMs() + 1000 + i },
          })
      return found
    }
    const { body } = await erase({ ppid })
    expect(body.audit_rows).toBe(254)
    const text = JSON.stringify(await items(node, 'list_audit'))
    expect(text).not.toContain(ppid)
    expect(text).not.toContain(credentialId)
  })
})
