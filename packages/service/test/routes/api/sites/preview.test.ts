import { createHash, randomBytes } from 'node:crypto'
import { type Ppid, type Scope, toHolderThumbprint } from '@countersign/core'
import type { EndpointId, Permission, PreviewAct } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/answer.ts'
import { openServiceKeys } from '../../../../src/keys/service-keys.ts'
import { StoreUnavailable } from '../../../../src/store/errors.ts'
import { createSecrets } from '../../../keys/secrets-double.ts'
import { type Ask, begin, keyOf, trust } from '../../../node.ts'
import { delegated, issued, type Made, NOW, newParty, newPpid, type Party } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

forEachSharedStore('POST /api/sites/{site_id}/preview', (open) => {
  /** Two issuers, three users, a bound credential and one delegated from it, each with a token. */
  const beginWorld = async () => {
    const begun = await begin(open())
    const { node, A, store, issuer } = begun
    const keys = await openServiceKeys(createSecrets(), randomBytes(32), 'https://service.example', NOW)
    Object.assign(node.deps, { keys })
    const other = await newParty()
    await trust(store, A, other)
    await node.deps.views.waitFor(await store.logPosition())
    const [holder, agent] = [await newParty(), await newParty()]
    const first = await issued(issuer, { siteId: A })
    const second = await issued(other, { siteId: A, ppid: first.ppid })
    const bound = await issued(issuer, { siteId: A, holderKey: holder.did, delegable: true })
    const child = await delegated(bound, holder, agent)
    const ended = await issued(issuer, { siteId: A, ppid: first.ppid })
    const all: (Made & { by?: Party; token: string; tokenId: string })[] = []
    for (const [made, by] of [[first], [second], [bound, holder], [child, agent], [ended]] as [
      Made,
      Party?,
    ][]) {
      const signed = by === undefined ? {} : { holder: by }
      const token = await node.tokenFor(made.document, {}, signed)
      const tokenId = (await store.token(sha256(token)))?.jti ?? ''
      all.push({ ...made, ...(by && { by }), token, tokenId })
    }
    await node.revokeCredential(ended.id)
    const params = { site_id: A }
    const preview = (act: unknown, caller: Caller = keyOf(A)) =>
      node.ask('preview', { params, caller, body: { act } })
    /** What the node accepts now, by the verdicts of the protected route. */
    const accepted = async () => {
      const credentials: string[] = []
      const tokens: string[] = []
      for (const { id, header, by, token, tokenId } of all) {
        const signed = by === undefined ? {} : { fields: { 'x-service-credential': header }, holder: by }
        if ((await node.context(header, signed)).status === 200) credentials.push(id)
        if ((await node.bearer(token)).status === 200) tokens.push(tokenId)
      }
      return { credentials, tokens }
    }
    const thumbprint = (await toHolderThumbprint(holder.did)) ?? ''
    return { ...begun, other, first, bound, child, all, params, preview, accepted, thumbprint }
  }
  type World = Awaited<ReturnType<typeof beginWorld>>
  type Done = [id: EndpointId, ask: Ask]

  const acts: [name: string, act: (world: World) => PreviewAct, done: (world: World) => Done][] = [
    [
      'a user',
      ({ first }) => ({ type: 'revoke_user', ppid: first.ppid }),
      ({ first, A }) => ['revoke_user', { body: { ppid: first.ppid, site_id: A } }],
    ],
    [
      'a sign-out',
      ({ bound }) => ({ type: 'sign_out_user', ppid: bound.ppid }),
      ({ bound, A }) => ['sign_out_user', { body: { ppid: bound.ppid, site_id: A } }],
    ],
    [
      'a credential with descendants',
      ({ bound }) => ({ type: 'revoke_credential', credential_id: bound.id }),
      ({ bound, A }) => ['revoke_credential', { body: { credential_id: bound.id, site_id: A } }],
    ],
    [
      'a token',
      ({ all }) => ({ type: 'revoke_token', token_id: all[0]?.tokenId ?? '' }),
      ({ all, A }) => ['revoke_token_by_id', { params: { site_id: A, token_id: all[0]?.tokenId ?? '' } }],
    ],
    [
      'several targets',
      ({ first, child }) => ({
        type: 'revoke_targets',
        targets: [{ ppid: first.ppid }, { credential_id: child.id }],
      }),
      ({ first, child, params }) => [
        'revoke_targets',
        { params, body: { targets: [{ ppid: first.ppid }, { credential_id: child.id }] } },
      ],
    ],
    [
      'a holder key',
      ({ thumbprint }) => ({ type: 'revoke_holder', thumbprint }),
      ({ thumbprint, params }) => ['revoke_holder', { params, body: { thumbprint } }],
    ],
    [
      'a cut-off of an issuer',
      ({ other }) => ({ type: 'cut_off_issuer', issuer: other.did }),
      ({ other, params }) => ['cut_off_issuer', { params, body: { issuer: other.did } }],
    ],
    [
      'a cut-off of the site',
      () => ({ type: 'cut_off_site' }),
      ({ A, params }) => ['cut_off_site', { params, body: { confirm: A } }],
    ],
    [
      'an issuer that is distrusted',
      ({ issuer }) => ({ type: 'distrust_issuer', issuer: issuer.did }),
      ({ issuer, A }) => [
        'change_issuer',
        { params: { site_id: A, issuer: issuer.did }, body: { status: 'distrusted' } },
      ],
    ],
    ...(['retired', 'compromised'] as const).map((status): (typeof acts)[number] => [
      `a key that is ${status}`,
      ({ issuer }) => ({ type: 'change_issuer_key', issuer: issuer.did, key: issuer.keyId, status }),
      ({ issuer, A }) => [
        'change_issuer_key',
        { params: { site_id: A, issuer: issuer.did, key: issuer.keyId }, body: { status } },
      ],
    ]),
    [
      'bearer tokens off',
      () => ({ type: 'change_site', bearer: 'off' }),
      ({ params }) => ['change_site', { params, body: { bearer: 'off' } }],
    ],
    [
      'delegation off',
      () => ({ type: 'change_site', delegation: 'off' }),
      ({ params }) => ['change_site', { params, body: { delegation: 'off' } }],
    ],
  ]

  it.each(acts)('says exactly what ends: %s', async (_name, act, done) => {
    const world = await beginWorld()
    const { node, A, store, preview, accepted, all } = world
    const before = await accepted()
    expect(before.credentials).toHaveLength(4)
    const position = await store.logPosition()
    const { status, body } = await preview(act(world))
    expect(status).toBe(200)
    // A preview changes nothing.
    expect(await store.logPosition()).toBe(position)
    expect(await accepted()).toEqual(before)
    const [id, ask] = done(world)
    expect((await node.ask(id, { caller: keyOf(A), ...ask })).status).toBe(200)
    const after = await accepted()
    const ended = {
      credentials: before.credentials.filter((each) => !after.credentials.includes(each)),
      tokens: before.tokens.filter((each) => !after.tokens.includes(each)),
    }
    expect(body.samples.credentials.sort()).toEqual(ended.credentials.sort())
    expect(body.samples.tokens.sort()).toEqual(ended.tokens.sort())
    expect(body.credentials).toEqual({ count: ended.credentials.length, complete: true })
    expect(body.tokens).toEqual({ count: ended.tokens.length, complete: true })
    const boundEnded = all.filter((each) => each.by !== undefined && ended.credentials.includes(each.id))
    expect(body.bound_credentials).toBe(boundEnded.length)
  })

  it('counts the offers that are cancelled, and names the webhooks that would be called', async () => {
    const { A, store, first, bound, preview } = await beginWorld()
    const context = { actor: 'operator', atMs: NOW, requestId: undefined }
    const offer = (ppid: string, expiresAtMs: number) =>
      store.createOffer(
        {
          sha256: sha256(`${ppid} ${expiresAtMs} ${A}`),
          siteId: A,
          ppid: ppid as Ppid,
          scope: ['orders:read' as Scope],
          permissionId: undefined,
          ttlSeconds: undefined,
          expiresAtMs,
        },
        context,
      )
    for (const endsAtMs of [NOW + 1000, NOW + 2000, NOW - 1]) await offer(first.ppid, endsAtMs)
    await offer(bound.ppid, NOW + 1000)
    const user = { type: 'revoke_user', ppid: first.ppid }
    const { webhooks: listed } = store
    const webhook = { siteId: A, url: 'https://hooks.example/', status: 'on', createdAtMs: NOW } as const
    store.webhooks = async (siteId) => [
      ...(await listed(siteId, { after: undefined, limit: 1 })),
      { ...webhook, webhookId: 'wh_all', kinds: undefined },
      { ...webhook, webhookId: 'wh_users', kinds: ['user.revoked'] },
      { ...webhook, webhookId: 'wh_tokens', kinds: ['token.revoked'] },
      { ...webhook, webhookId: 'wh_off', kinds: undefined, status: 'disabled' },
    ]
    expect((await preview(user)).body).toMatchObject({
      users: { count: 1, complete: true },
      offers: 2,
      sign_ins: 0,
      webhooks: ['wh_all', 'wh_users'],
      irreversible: false,
      ends_own_access: false,
    })
    expect((await preview({ type: 'cut_off_site' })).body).toMatchObject({ offers: 3, irreversible: true })
    expect((await preview({ type: 'revoke_credential', credential_id: first.id })).body.offers).toBe(0)
  })

  it('says that deleting the own key ends the access of the caller', async () => {
    const { A, preview } = await beginWorld()
    const other = await preview({ type: 'delete_key', key_id: 'key_other' })
    expect(other.body).toMatchObject({ ends_own_access: false, verifiers: 0 })
    // What was created with a key is not ended with it.
    expect(other.body.not_ended).toEqual(['credentials', 'tokens', 'offers', 'sessions'])
    const own = { ...keyOf(A), keyId: 'key_own' } as Caller
    expect((await preview({ type: 'delete_key', key_id: 'key_own' }, own)).body).toMatchObject({
      ends_own_access: true,
      irreversible: true,
      credentials: { count: 0 },
    })
  })

  it('counts the connected verifiers of a key that is deleted', async () => {
    const { node, preview } = await beginWorld()
    const lease = (keyId: string, nodeId: string) => ({ keyId, nodeId })
    Object.assign(node.deps.verifiers, {
      connected: async () => ({
        leases: [lease('key_1', 'node_1'), lease('key_1', ''), lease('key_2', 'node_1')],
        streams: [{ keyId: 'key_1' }],
      }),
    })
    expect((await preview({ type: 'delete_key', key_id: 'key_1' })).body.verifiers).toBe(2)
    expect((await preview({ type: 'cut_off_site' })).body).toMatchObject({ verifiers: 0, not_ended: [] })
  })

  it('reads 10,000 rows at most in all, 100 at a time, and lets others run after each page', async () => {
    const { A, store, first, preview } = await beginWorld()
    const page = { after: undefined, limit: 1 }
    const [credential] = await store.credentials(A, { ppid: first.ppid as Ppid }, page)
    const [token] = await store.tokens(A, { ppid: first.ppid as Ppid }, page)
    if (credential === undefined || token === undefined) throw new TypeError('there is no row')
    const read = { credentials: 0, tokens: 0, limitMax: 0, skipped: 0 }
    let hasTurned = true
    /** Every page is short, as if there were no more. */
    const load = <Row>(of: 'credentials' | 'tokens', limit: number, toRow: (i: number) => Row): Row[] => {
      if (!hasTurned) read.skipped++
      hasTurned = false
      setImmediate(() => {
        hasTurned = true
      })
      read.limitMax = Math.max(read.limitMax, limit)
      return Array.from({ length: Math.min(60, limit) }, () => toRow(read[of]++))
    }
    store.credentials = async (_site, _filter, { limit }) =>
      load('credentials', limit, (i) => ({ ...credential, credentialId: `cred_${i}` as never }))
    store.tokens = async (_site, _filter, { limit }) =>
      load('tokens', limit, (i) => ({ ...token, jti: `tok_${i}` }))
    const targets = Array.from({ length: 200 }, () => ({ ppid: newPpid() }))
    const { status, body } = await preview({ type: 'revoke_targets', targets })
    expect([status, body.credentials.complete, body.tokens.complete]).toEqual([200, false, false])
    expect(read).toEqual({ credentials: 5000, tokens: 5000, limitMax: 100, skipped: 0 })
  })

  it('429: one at a time for each key, and two of a site', async () => {
    const { node, A, store, preview } = await beginWorld()
    const act = { type: 'cut_off_site' }
    const own = node.deps.previews.begin(`key_${A}`, A)
    const { code, headers } = await preview(act)
    expect([code, headers['retry-after']]).toEqual(['rate_limited', '1'])
    own()
    const others = ['key_1', 'key_2'].map((keyId) => node.deps.previews.begin(keyId, A))
    expect((await preview(act)).code).toBe('rate_limited')
    others[0]?.()
    expect((await preview(act)).status).toBe(200)
    const { countOffers } = store
    store.countOffers = () => Promise.reject(new StoreUnavailable('down'))
    for (let i = 0; i < 2; i++) expect((await preview(act)).code).toBe('store_unavailable')
    store.countOffers = countOffers
    expect((await preview(act)).status).toBe(200)
  })

  it('the keys and people of one site do not use up the previews of another', async () => {
    const { node, B, preview } = await beginWorld()
    const act = { type: 'cut_off_site' }
    const begin = (keyId: string) => node.deps.previews.begin(keyId, B)
    const others = ['key_1', 'person:1'].map(begin)
    expect(() => begin('key_2')).toThrow()
    // Also not by what was rejected.
    expect(() => begin('key_2')).toThrow()
    expect((await preview(act)).status).toBe(200)
    for (const end of others) end()
    expect((await preview(act, keyOf(B))).code).toBe('not_found')
    begin('key_2')()
  })

  it('needs a key of the site that may read', async () => {
    const { A, B, preview } = await beginWorld()
    const allowed = (...permissions: Permission[]) => ({ ...keyOf(A), permissions }) as Caller
    const act = { type: 'cut_off_site' }
    expect((await preview(act, keyOf(B))).code).toBe('not_found')
    expect((await preview(act, allowed('credentials:revoke', 'feed:read'))).code).toBe('api_key_forbidden')
    expect((await preview(act, allowed('site:read'))).status).toBe(200)
    expect((await preview({ type: 'unknown' })).code).toBe('validation_failed')
  })
})
