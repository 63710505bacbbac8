import { beforeEach, describe, expect, it } from 'vitest'
import { secretSha256 } from '../../../src/keys/secret-text.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../admin-node.ts'
import { anonymous, keyOf, NOWHERE } from '../../node.ts'
import { forEachSharedStore } from '../../stores.ts'

forEachSharedStore('people', (open) => {
  let A = newSiteId()
  beforeEach(() => {
    A = newSiteId()
  })
  const begin = async (): Promise<AdminNode> => {
    const node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A } })
    return node
  }
  const viewer = () => [{ site_id: A, role: 'viewer' }]
  const add = async (node: AdminNode, body: object = {}) =>
    node.admin('create_person', { body: { name: 'Ada', roles: viewer(), ...body } })
  const change = (node: AdminNode, person_id: string, body: object) =>
    node.admin('change_person', { params: { person_id }, body })

  describe('POST /api/people', () => {
    it('201: adds a person, with the roles that were given', async () => {
      const node = await begin()
      const { status, body } = await add(node, { reason: 'new colleague' })
      expect([status, body]).toEqual([
        201,
        {
          person_id: expect.stringMatching(/^person_[0-9a-z]{26}$/),
          name: 'Ada',
          roles: viewer(),
          status: 'active',
          created_at: '2026-11-14T12:00:00Z',
        },
      ])
      expect((await add(node, { roles: [{ site_id: null, role: 'operator' }] })).status).toBe(201)
    })

    it('400: a role at a site that does not exist, which may be created later', async () => {
      const node = await begin()
      const roles = [{ site_id: NOWHERE, role: 'admin' }]
      expect(await add(node, { roles })).toMatchObject({ status: 400, code: 'site_unknown' })
      const { body } = await add(node)
      expect(await change(node, body.person_id, { roles })).toMatchObject({ code: 'site_unknown' })
    })

    it('A214: 422 for a name with control characters or overrides', async () => {
      const node = await begin()
      for (const name of ['', 'a\u0000b', 'a\nb', '\u202Eadmin', 'x'.repeat(65)])
        expect(await add(node, { name })).toMatchObject({ status: 422, code: 'validation_failed' })
      expect((await add(node, { name: '<img src=x onerror=alert(1)>' })).status).toBe(201)
    })
  })

  it('403: every endpoint needs an operator; a key of a site is not enough', async () => {
    const node = await begin()
    const { body } = await add(node)
    const params = { person_id: body.person_id }
    for (const [caller, status] of [
      [keyOf(A), 403],
      [anonymous, 401],
    ] as const) {
      const answers = [
        await node.admin('create_person', { body: { name: 'x', roles: [] }, caller }),
        await node.admin('list_people', { caller }),
        await node.admin('change_person', { params, body: { status: 'ended' }, caller }),
        await node.admin('create_console_link', { params, caller }),
      ]
      expect(answers.map((each) => each.status)).toEqual([status, status, status, status])
    }
    expect(await open().person(body.person_id)).toMatchObject({ status: 'active' })
  })

  it('GET: lists people page by page', async () => {
    const node = await begin()
    const made: string[] = []
    for (let i = 0; i < 3; i++) {
      node.clock.pass(1)
      made.push((await add(node)).body.person_id)
    }
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await node.admin('list_people', { query: `limit=2${cursor}` })
      seen.push(...body.items.map((row: { person_id: string }) => row.person_id))
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(seen).toEqual(expect.arrayContaining(made))
    expect(new Set(seen).size).toBe(seen.length)
  })

  describe('PATCH /api/people/{person_id}', () => {
    it('200: changes what was sent, and nothing else', async () => {
      const node = await begin()
      const { body } = await add(node)
      expect((await change(node, body.person_id, { name: 'Grace' })).body).toEqual({ ...body, name: 'Grace' })
      const roles = [{ site_id: A, role: 'admin' }]
      expect((await change(node, body.person_id, { roles })).body).toMatchObject({ name: 'Grace', roles })
      const ended = await change(node, body.person_id, { status: 'ended', reason: 'left' })
      expect(ended.body).toMatchObject({ status: 'ended', roles })
    })

    it('404: an unknown person', async () => {
      const node = await begin()
      expect(await change(node, 'person_none', { name: 'x' })).toMatchObject({ status: 404 })
    })
  })

  describe('POST /api/people/{person_id}/links', () => {
    const link = (node: AdminNode, person_id: string) =>
      node.admin('create_console_link', { params: { person_id } })

    it('A152: 201 with 256 bits in the fragment, which neither the store nor a log has', async () => {
      const node = await begin()
      const { body } = await add(node)
      const { status, body: made } = await link(node, body.person_id)
      expect(status).toBe(201)
      expect(made.expires_at).toBe('2026-11-14T12:01:00Z')
      const [, secret = ''] =
        /^https:\/\/service\.example\/console#link=([A-Za-z0-9_-]{43})$/.exec(made.url) ?? []
      expect(secret).not.toBe('')
      const rows = await open().auditRows(null, { after: undefined, limit: 200 })
      expect(rows.map(({ action }) => action)).toContain('person.link')
      expect(JSON.stringify([rows, node.logged])).not.toContain(secret.slice(0, 12))
      const session = { sha256: secretSha256(made.url), sessionId: `sess_${made.url.slice(-9)}` }
      const opened = await open().openConsoleSession(
        secretSha256(secret),
        { ...session, expiresAtMs: node.clock.nowMs() + 1000, elevatedUntilMs: 0 },
        undefined,
        9,
        { atMs: node.clock.nowMs() },
      )
      expect(opened?.person.personId).toBe(body.person_id)
    })

    it('404: an unknown person, and one who was ended', async () => {
      const node = await begin()
      expect(await link(node, 'person_none')).toMatchObject({ status: 404, code: 'not_found' })
      const { body } = await add(node)
      await change(node, body.person_id, { status: 'ended' })
      expect(await link(node, body.person_id)).toMatchObject({ status: 404, code: 'not_found' })
    })
  })
})
