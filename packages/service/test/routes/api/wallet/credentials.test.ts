import { readCredentialObject } from '@countersign/core'
import { beforeEach, describe, expect, it } from 'vitest'
import { rotateKey } from '../../../../src/actions/key-upkeep.ts'
import { type AdminNode, newSiteId, openAdminNode } from '../../../admin-node.ts'
import { keyOf, NOWHERE, operator } from '../../../node.ts'
import { NOW, newParty } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const DAY = 86_400
const OWN = 'did:web:service.example'
const PPID = 'did:service:ppid_0123456789abcdef'
const order = { user_ref: 'user-1', scope: ['orders:read'] }

forEachSharedStore('POST /api/wallet/credentials', (open) => {
  let A = newSiteId()
  let B = newSiteId()
  beforeEach(() => {
    A = newSiteId()
    B = newSiteId()
  })

  const begin = async (site: object = {}): Promise<AdminNode> => {
    const node = await openAdminNode(open(), A)
    await node.admin('create_site', { body: { site_id: A, ...site } })
    return node
  }
  const issue = (node: AdminNode, more: object = {}, caller = keyOf(A)) =>
    node.admin('issue_credential', { body: { site_id: A, ...order, ...more }, caller })
  const issued = async (node: AdminNode, more: object = {}, caller = keyOf(A)) => {
    const told = await issue(node, more, caller)
    expect(told.status).toBe(201)
    return told.body
  }
  const context = { actor: 'operator', atMs: NOW, requestId: undefined }

  describe('201', () => {
    it('issues a credential that is accepted at once', async () => {
      const node = await begin()
      const { credential, credential_id, ppid, expires_at } = await issued(node, {
        permission_id: 'perm_x',
        ttl_seconds: 600,
      })
      expect(credential_id).toMatch(/^cred_[0-9a-hjkmnp-tv-z]{26}$/)
      expect(ppid).toMatch(/^did:service:ppid_[0-9a-hjkmnp-tv-z]{52}$/)
      expect(expires_at).toBe('2026-11-14T12:10:00Z')
      expect(credential).toMatchObject({
        id: `did:service:${credential_id}`,
        issuer: OWN,
        validFrom: '2026-11-14T12:00:00Z',
        validUntil: '2026-11-14T12:10:00Z',
        credentialSubject: { id: ppid, site_id: A, scope: ['orders:read'], permission_id: 'perm_x' },
      })
      const told = await node.show(credential)
      expect(told).toMatchObject({
        status: 200,
        body: { subject: { credential_id, ppid, permission_id: 'perm_x' } },
      })
    })

    it('knows it before it answers', async () => {
      const node = await begin()
      const { credential_id } = await issued(node)
      expect((await node.status(credential_id)).body.statuses[credential_id]).toEqual({
        status: 'active',
        revoked: false,
      })
      const { body: page } = await node.admin('list_credentials', { params: { site_id: A } })
      expect(page.items).toMatchObject([
        { credential_id, issuer: OWN, status: 'active', holder_bound: false, permission_id: 'perm_default' },
      ])
    })

    it('lives 30 days unless told otherwise, and never longer than the site or the issuer entry allows', async () => {
      const node = await begin()
      expect((await issued(node)).expires_at).toBe('2026-12-14T12:00:00Z')
      expect((await issued(node, { ttl_seconds: 366 * DAY })).expires_at).toBe('2027-11-15T12:00:00Z')
      await node.admin('change_site', {
        params: { site_id: A },
        body: { credential_ttl_seconds_max: 2 * DAY },
      })
      expect((await issued(node)).expires_at).toBe('2026-11-16T12:00:00Z')
      await node.admin('change_issuer', {
        params: { site_id: A, issuer: OWN },
        body: { credential_ttl_seconds_max: DAY },
      })
      const shortest = await issued(node)
      expect(shortest.expires_at).toBe('2026-11-15T12:00:00Z')
      expect((await node.show(shortest.credential)).status).toBe(200)
    })

    it('gives one user one ppid at a site, and another at another site', async () => {
      const node = await begin()
      await node.admin('create_site', { body: { site_id: B } })
      const [one, again, there, other] = [
        await issued(node),
        await issued(node, { scope: ['orders:write'] }, operator),
        await issued(node, { site_id: B }, keyOf(B)),
        await issued(node, { user_ref: 'user-2' }),
      ]
      expect(again.ppid).toBe(one.ppid)
      expect(new Set([one.ppid, there.ppid, other.ppid]).size).toBe(3)
    })

    it('issues to a ppid and binds it to a holder key', async () => {
      const node = await begin()
      const holder = await newParty()
      const { credential, ppid } = await issued(node, {
        user_ref: undefined,
        ppid: PPID,
        holder_key: holder.did,
      })
      expect(ppid).toBe(PPID)
      expect(credential.credentialSubject).toMatchObject({ id: PPID, holder_key: holder.did })
      expect(await node.show(credential)).toMatchObject({ status: 401, code: 'proof_required' })
      expect((await node.admin('list_credentials', { params: { site_id: A } })).body.items).toMatchObject([
        { holder_bound: true },
      ])
    })

    it('is delegable if the site asks for it, and not otherwise', async () => {
      const node = await begin()
      const { did } = await newParty()
      for (const delegable of [true, false, undefined]) {
        const { credential } = await issued(node, { holder_key: did, delegable })
        const read = readCredentialObject(credential)
        expect(read).toMatchObject({ credential: { holderKey: did, delegable: delegable === true } })
      }
    })

    it('can be revoked, alone and with its user', async () => {
      const node = await begin()
      const [one, two] = [await issued(node), await issued(node)]
      await node.revokeCredential(one.credential_id)
      expect((await node.show(one.credential)).code).toBe('credential_revoked')
      expect((await node.show(two.credential)).status).toBe(200)
      await node.revokeUser(two.ppid)
      expect((await node.show(two.credential)).code).toBe('credential_revoked')
    })

    it('issues to a revoked user too, and what it issues is revoked everywhere', async () => {
      const node = await begin()
      const { ppid } = await issued(node)
      await node.revokeUser(ppid)
      const { credential, credential_id, user_revoked } = await issued(node)
      expect(user_revoked).toBe(true)
      expect((await node.show(credential)).code).toBe('credential_revoked')
      expect((await node.status(credential_id)).body.statuses[credential_id]).toMatchObject({
        status: 'revoked',
        revoked: true,
      })
      const { body: page } = await node.admin('list_credentials', {
        params: { site_id: A },
        query: 'status=active',
      })
      expect(page.items).toEqual([])
    })

    it.each([0, 1, 400, 999])(
      'counts when it is issued right after a reinstatement, %i ms into a second',
      async (ms) => {
        const node = await begin()
        const { ppid, credential: old, ...first } = await issued(node)
        await node.revokeUser(ppid)
        node.clock.pass(10_000 + ms)
        const { credential: between } = await issued(node)
        await node.reinstate(ppid)
        const { credential, ...last } = await issued(node)
        for (const answer of [first, last]) expect(answer).not.toHaveProperty('user_revoked')
        expect((await node.show(credential)).status).toBe(200)
        expect((await node.show(between)).code).toBe('credential_revoked')
        expect((await node.show(old)).code).toBe('credential_revoked')
      },
    )

    it('leaves an audit row that says who, without the user reference', async () => {
      const node = await begin()
      const { credential_id } = await issued(node, { user_ref: 'canary-user-ref' })
      const { body: page } = await node.admin('list_audit', { params: { site_id: A } })
      expect(page.items[0]).toMatchObject({
        action: 'credential.issue',
        target: credential_id,
        actor: { type: 'api_key', id: `key_${A}` },
        outcome: 'done',
      })
      expect(JSON.stringify(page)).not.toContain('canary')
      expect(node.logged.join('')).not.toContain('canary')
    })

    it('signs with the new key after a rotation, and the old credentials still count', async () => {
      const node = await begin()
      const before = await issued(node)
      const id = await rotateKey(node.deps, 'issuer', context, { leadMs: 0 })
      const after = await issued(node)
      expect(after.credential.proof.verificationMethod).toBe(`${OWN}#${id}`)
      expect(before.credential.proof.verificationMethod).not.toBe(`${OWN}#${id}`)
      for (const { credential } of [before, after]) expect((await node.show(credential)).status).toBe(200)
      const { body: page } = await node.admin('list_issuers', { params: { site_id: A } })
      expect(page.items[0].keys.map((key: { status: string }) => key.status)).toEqual(['active', 'active'])
    })

    it('tells a site of a key that it had not heard of', async () => {
      const node = await begin()
      // As on a node that has read of a rotation before it reached this site.
      await node.deps.keys.rotate('issuer', NOW, { leadMs: 0 })
      const { credential } = await issued(node)
      expect((await node.show(credential)).status).toBe(200)
    })

    it('A058: what the feed key signs is no credential of the service', async () => {
      const node = await begin()
      const { issueCredential } = await import('@countersign/core')
      const { kid, key } = node.deps.keys.feedKey(NOW)
      const grant = {
        credentialId: 'cred_0123456789',
        ppid: PPID,
        siteId: A,
        scope: ['orders:read'],
        validFromMs: NOW,
        validUntilMs: NOW + 60_000,
      }
      const forge = (issuer: string, verificationMethod: string) =>
        issueCredential(grant, { issuer, verificationMethod, key, createdMs: NOW })
      for (const forged of [
        await forge(OWN, `${OWN}#${kid}`),
        await forge(`did:key:${kid}`, `did:key:${kid}#${kid}`),
        await forge(OWN, node.deps.keys.signer(NOW).verificationMethod),
      ]) {
        expect((await node.show(forged)).status).toBe(401)
      }
    })

    it('issues what the core can read', async () => {
      const node = await begin()
      expect(readCredentialObject((await issued(node)).credential)).toHaveProperty('credential')
    })
  })

  describe('400', () => {
    it('validation_failed for a delegable credential without a holder', async () => {
      const node = await begin()
      const answer = await issue(node, { delegable: true })
      expect(answer).toMatchObject({ code: 'validation_failed', body: { errors: [{ path: 'delegable' }] } })
    })

    it('site_unknown, for the operator', async () => {
      const node = await begin()
      expect(await issue(node, { site_id: NOWHERE }, operator)).toMatchObject({
        status: 400,
        code: 'site_unknown',
      })
    })
  })

  describe('403', () => {
    it('another site looks like one that does not exist', async () => {
      const node = await begin()
      const [foreign, nowhere] = [
        await issue(node, {}, keyOf(B)),
        await issue(node, { site_id: NOWHERE }, keyOf(B)),
      ]
      expect(foreign).toMatchObject({ status: 403, code: 'api_key_forbidden' })
      expect(nowhere.body).toEqual(foreign.body)
      expect((await node.admin('list_credentials', { params: { site_id: A } })).body.items).toEqual([])
    })

    it('where the site has distrusted the service', async () => {
      const node = await begin()
      const { credential } = await issued(node)
      await node.admin('change_issuer', {
        params: { site_id: A, issuer: OWN },
        body: { status: 'distrusted' },
      })
      expect(await issue(node)).toMatchObject({ status: 403, code: 'api_key_forbidden' })
      expect((await node.show(credential)).code).toBe('issuer_untrusted')
      await node.admin('change_issuer', { params: { site_id: A, issuer: OWN }, body: { status: 'trusted' } })
      expect((await issue(node)).status).toBe(201)
    })

    it.each(['retired', 'compromised'])(
      'where the site has made the key %s, until there is another',
      async (status) => {
        const node = await begin()
        const key = node.deps.keys.issuerKeys[0]?.id ?? ''
        await node.admin('change_issuer_key', { params: { site_id: A, issuer: OWN, key }, body: { status } })
        expect(await issue(node)).toMatchObject({ status: 403, code: 'api_key_forbidden' })
        await rotateKey(node.deps, 'issuer', context, { leadMs: 0 })
        expect((await node.show((await issued(node)).credential)).status).toBe(200)
        const { body: page } = await node.admin('list_issuers', { params: { site_id: A } })
        expect(page.items[0].keys.map((state: { status: string }) => state.status)).toEqual([
          status,
          'active',
        ])
      },
    )
  })

  describe('422', () => {
    const refused: Record<
      'validation_failed' | 'ttl_out_of_range' | 'key_rejected',
      Record<string, object>
    > = {
      validation_failed: {
        'neither user_ref nor ppid': { user_ref: undefined },
        both: { ppid: PPID },
        'an empty user_ref': { user_ref: '' },
        'a user_ref of two lines': { user_ref: 'a\nb' },
        'a user_ref of 257 characters': { user_ref: 'a'.repeat(257) },
        'no scope': { scope: [] },
        'a scope twice': { scope: ['a', 'a'] },
        '33 scopes': { scope: Array.from({ length: 33 }, (_, i) => `s${i}`) },
        'a scope with a wildcard': { scope: ['orders:*'] },
        'a bad permission_id': { permission_id: 'a b' },
        'an unknown member': { admin: true },
        'a delegable one': { delegable: true },
      },
      ttl_out_of_range: Object.fromEntries(
        [0, -1, 1.5, '300', 366 * DAY + 1, 1e12, null].map((ttl_seconds) => [
          String(ttl_seconds),
          { ttl_seconds },
        ]),
      ),
      key_rejected: Object.fromEntries(
        [
          'did:key:z6Mk',
          'did:web:a.example',
          'z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
          `did:key:z${'1'.repeat(45)}`,
        ].map((holder_key) => [holder_key, { holder_key }]),
      ),
    }
    for (const [code, cases] of Object.entries(refused)) {
      it(code, async () => {
        const node = await begin()
        for (const [name, more] of Object.entries(cases))
          expect(await issue(node, more), name).toMatchObject({ status: 422, code })
        expect((await node.admin('list_credentials', { params: { site_id: A } })).body.items).toEqual([])
      })
    }

    it('ttl_out_of_range: longer than the site allows', async () => {
      const node = await begin({ credential_ttl_seconds_max: 3600 })
      expect(await issue(node, { ttl_seconds: 3601 })).toMatchObject({
        status: 422,
        code: 'ttl_out_of_range',
      })
      expect((await issue(node, { ttl_seconds: 3600 })).status).toBe(201)
    })
  })

  describe('503', () => {
    it('shows no credential that could not be written down', async () => {
      const node = await begin()
      const { StoreUnavailable } = await import('../../../../src/store/errors.ts')
      node.deps.store.recordCredentials = async () => {
        throw new StoreUnavailable('down')
      }
      expect(await issue(node)).toMatchObject({ status: 503, code: 'store_unavailable' })
    })
  })
})
