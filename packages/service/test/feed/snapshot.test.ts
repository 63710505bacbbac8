import {
  checkEpochStatement,
  type EpochLine,
  formatTime,
  GENESIS_HASH,
  generatePrivateKey,
  parseSnapshotLine,
  type SiteId,
  type SiteView,
  type SnapshotHead,
} from '@countersign/core'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { newToken, seen } from '../store/fixtures.ts'
import {
  context,
  type FeedNode,
  type FeedSite,
  newCredentialId,
  newPpid,
  onEachStore,
  type Told,
} from './feed-node.ts'
import { readSnapshot } from './snapshot/read-snapshot.ts'
import { takeSnapshot } from './snapshot/take-snapshot.ts'

const DAY_MS = 86_400_000
const path = (siteId: string) => `/api/sites/${siteId}/snapshot`

const load = async (node: FeedNode, siteId: SiteId, text: string) =>
  (await readSnapshot(node, siteId, text)).view

const parseHead = ({ text }: Told) => JSON.parse(text.slice(0, text.indexOf('\n'))) as SnapshotHead
const typesOf = ({ text }: Told) =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).type as string]))
const viewOf = ({ service }: FeedNode, siteId: SiteId) => service.deps.views.view(siteId) as SiteView

async function addIssuer(store: Store, siteId: SiteId, n: number): Promise<string> {
  const { publicKey } = await generatePrivateKey('Ed25519')
  const issuer = `did:web:issuer${n}.${siteId}`
  const keys = [{ id: 'key-1', key: publicKey.multikey, status: 'active' as const }]
  const fields = { scope: undefined, credentialTtlSecondsMax: undefined, label: undefined, fetched: false }
  await store.addIssuer({ siteId, issuer, keys, ...fields }, context())
  return issuer
}

/** Something of everything, and users in every state. */
async function live({ service }: FeedNode, { siteId }: FeedSite) {
  const { store, views } = service.deps
  const issuers = [
    await addIssuer(store, siteId, 1),
    await addIssuer(store, siteId, 2),
    await addIssuer(store, siteId, 3),
  ] as const
  await store.changeIssuerKey(siteId, issuers[0], 'key-1', 'retired', context())
  await store.changeIssuer(siteId, issuers[1], { status: 'distrusted' }, context())
  await store.changeIssuerKey(siteId, issuers[2], 'key-1', 'compromised', context())
  await store.changeSite(siteId, { bearer: 'off' }, context())
  await store.changeSite(siteId, { bearer: 'on', credentialTtlSecondsMax: 3600 }, context())
  const users = [newPpid(), newPpid(), newPpid()] as const
  for (const ppid of users) await store.revokeUser({ siteId, ppid, reason: 'because' }, context())
  for (const ppid of users.slice(1)) await store.reinstateUser({ siteId, ppid, reason: undefined }, context())
  await store.revokeUser({ siteId, ppid: users[2], reason: undefined }, context())
  const credentials = [newCredentialId(), newCredentialId()] as const
  for (const credentialId of credentials)
    await store.revokeCredential({ siteId, credentialId, reason: undefined }, context())
  const shown = seen(siteId)
  const token = newToken(shown, { expiresAtMs: Date.now() + 900_000 })
  await store.createToken(token, 20, Date.now(), shown)
  await store.revokeToken({ sha256: token.sha256, siteId, reason: undefined }, context())
  await views.waitFor(await store.logPosition())
  return { issuers, users, credentials, token }
}

onEachStore('the snapshot', (home) => {
  it('makes a verifier know what this node knows (I-10)', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { issuers, users, credentials, token } = await live(node, site)
    const own = viewOf(node, site.siteId)
    const response = await node.call('GET', path(site.siteId), { key: site.key })
    const view = await load(node, site.siteId, response.text)
    expect(view.head).toEqual(own.head)
    const answers = (one: SiteView) => ({
      settings: one.settings,
      issuers: issuers.map((issuer) => [
        one.issuer(issuer),
        one.issuerRevocation(issuer),
        one.keyRevocation(issuer, 'key-1'),
      ]),
      users: users.map((ppid) =>
        [0, Date.now(), Date.now() + 5000].map((createdMs) => one.userRevocation(ppid, createdMs)),
      ),
      credentials: [...credentials, newCredentialId()].map((id) => one.credentialRevocation(id)),
      token: one.tokenRevocation(token.sha256),
    })
    expect(answers(view)).toEqual(answers(own))
    expect(view.settings.bearerOffMs).toBeDefined()
    expect(response.text).not.toContain('because')
  })

  it('agrees with this node and with a plain model about random cut-offs', { tags: 'long' }, async () => {
    const node = await home().node()
    const { store, views } = node.service.deps
    const base = Date.now() - 100_000
    const times = Array.from({ length: 12 }, (_, i) => base + i * 1000)
    const users = [newPpid(), newPpid()]
    const holders = ['a'.repeat(43), 'b'.repeat(43)]
    const issuers = ['did:web:one.example', 'https://idp.example']
    const history = fc.array(
      fc.record({
        kind: fc.constantFrom('user', 'holder', 'issuer', 'site'),
        which: fc.nat(1),
        second: fc.nat(9),
      }),
      { maxLength: 12, size: 'max' },
    )
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const site = await node.newSite()
        const { siteId } = site
        for (const { kind, which, second } of steps) {
          const at = { ...context(), atMs: base + second * 1000 }
          const before = formatTime(at.atMs)
          const order = { siteId, target: siteId, reason: undefined }
          const [ppid, thumbprint, issuer] = [users[which], holders[which], issuers[which]]
          if (ppid === undefined || thumbprint === undefined || issuer === undefined)
            throw new Error('no name')
          if (kind === 'user')
            await store.signOutUsers({ siteId, ppids: [ppid], beforeMs: at.atMs, reason: undefined }, at)
          if (kind === 'holder')
            await store.cutOff(
              { ...order, kind: 'holder.revoked', body: { thumbprint, revoked_at: before } },
              at,
            )
          if (kind === 'issuer')
            await store.cutOff({ ...order, kind: 'issuer.cut_off', body: { issuer, before } }, at)
          if (kind === 'site') await store.cutOff({ ...order, kind: 'site.cut_off', body: { before } }, at)
        }
        await views.waitFor(await store.logPosition())
        const response = await node.call('GET', path(siteId), { key: site.key })
        const answers = (one: SiteView) => ({
          users: users.map((ppid) => times.map((ms) => one.userRevocation(ppid, ms) !== undefined)),
          holders: holders.map((thumbprint) => one.holderRevocation(thumbprint) !== undefined),
          issuers: issuers.map((issuer) => times.map((ms) => one.cutOff(issuer, ms) !== undefined)),
        })
        const isCut = (kind: string, which: number, ms: number) =>
          steps.some((step) => step.kind === kind && step.which === which && ms <= base + step.second * 1000)
        const isSiteCut = (ms: number) => isCut('site', 0, ms) || isCut('site', 1, ms)
        const model = {
          users: users.map((_, which) => times.map((ms) => isCut('user', which, ms))),
          holders: holders.map((_, which) => isCut('holder', which, 0)),
          issuers: issuers.map((_, which) => times.map((ms) => isSiteCut(ms) || isCut('issuer', which, ms))),
        }
        expect(answers(viewOf(node, siteId))).toEqual(model)
        expect(answers(await load(node, siteId, response.text))).toEqual(model)
      }),
      { numRuns: 20 },
    )
  })

  it('is as of a moment before the store was asked, and of the last entry that was there', async () => {
    const node = await home().node()
    const site = await node.newSite()
    await live(node, site)
    const response = await node.call('GET', path(site.siteId), { key: site.key })
    const { as_of, ...head } = parseHead(response)
    const asOf = Date.parse(as_of)
    expect(head).toEqual({
      type: 'head',
      max_age_seconds: 60,
      base: { seq: 0, hash: GENESIS_HASH },
      site_id: site.siteId,
      ...viewOf(node, site.siteId).head,
    })
    expect(asOf).toBeLessThanOrEqual(Date.now())
    expect(asOf).toBeGreaterThan(Date.now() - 5000)
  })

  it('gives its place back when only its headers were asked for', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const statuses: number[] = []
    for (let i = 0; i < 33; i++)
      statuses.push((await node.call('HEAD', path(site.siteId), { key: site.key })).status)
    expect(statuses).toEqual(Array(33).fill(200))
    expect((await node.call('GET', path(site.siteId), { key: site.key })).status).toBe(200)
  })

  it('is compressed for those who take it, and says the same', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const [plain, packed] = [
      await node.call('GET', path(site.siteId), { key: site.key }),
      await node.call('GET', path(site.siteId), { key: site.key, headers: { 'accept-encoding': 'gzip' } }),
    ]
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ])
    expect(typesOf(packed)).toEqual(typesOf(plain))
    expect(typesOf(plain)).toEqual(['head', 'site', 'end'])
  })

  it('is as of its head, whatever is added while it is read, and has lines from many pages', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { store, views } = node.service.deps
    const revoke = () =>
      store.revokeCredential(
        { siteId: site.siteId, credentialId: newCredentialId(), reason: undefined },
        context(),
      )
    for (let i = 0; i < 25; i++) await Promise.all(Array.from({ length: 50 }, revoke))
    await views.waitFor(await store.logPosition())
    const view = viewOf(node, site.siteId)
    const { seq } = view.head
    const signer = { kid: 'key', key: await generatePrivateKey('Ed25519') }
    let text = ''
    for await (const piece of takeSnapshot({
      store,
      view,
      asOfMs: Date.now(),
      signer,
    })) {
      text += Buffer.from(piece).toString()
      await revoke()
      await views.waitFor(await store.logPosition())
    }
    expect(view.head.seq).toBeGreaterThan(seq)
    const lines = text.split('\n').slice(0, -1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ type: 'head', seq })
    expect(lines.length).toBe(1 + 1 + 1250 + 1)
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ type: 'end', lines: lines.length - 1 })
  })

  it.each([
    [
      'an entry has been changed',
      (records: readonly object[]) =>
        records.map((record, i) => (i === 1 ? { ...record, at: formatTime(0) } : record)),
    ],
    ['an entry is missing', (records: readonly object[]) => records.filter((_, i) => i !== 1)],
    ['the end of the log is missing', (records: readonly object[]) => records.slice(0, 1)],
    ['the log is as it was written (control)', undefined],
  ])('is never signed when %s (A182, I-7)', async (_, spoil) => {
    const node = await home().node()
    const site = await node.newSite()
    await live(node, site)
    const { deps } = node.service
    let isFirst = true
    const store: Pick<Store, 'siteRecordsAfter' | 'epochLinks'> = {
      epochLinks: (...args) => deps.store.epochLinks(...args),
      async siteRecordsAfter(...args) {
        const records = await deps.store.siteRecordsAfter(...args)
        if (!isFirst || spoil === undefined) return isFirst || spoil === undefined ? records : []
        isFirst = false
        return spoil(records) as typeof records
      },
    }
    const signer = { kid: 'key', key: await generatePrivateKey('Ed25519') }
    let text = ''
    const read = async () => {
      for await (const piece of takeSnapshot({
        store,
        view: viewOf(node, site.siteId),
        asOfMs: Date.now(),
        signer,
      })) {
        text += Buffer.from(piece).toString()
      }
    }
    if (spoil === undefined) await read()
    else await expect(read()).rejects.toThrow(/the log of/)
    expect(text.includes('"type":"end"')).toBe(spoil === undefined)
  })

  it('states, signed, how its epoch and those before it began, right after the head and oldest first', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { store } = node.service.deps
    const { head } = viewOf(node, site.siteId)
    expect(await store.epochLinks(site.siteId, 16)).toEqual([])
    const signer = { kid: 'key', key: await generatePrivateKey('Ed25519') }
    const links = [
      { epoch: 'epoch00002', previous: { epoch: 'epoch00001', seq: 3, hash: 'a'.repeat(64) }, atMs: 1_000 },
      { epoch: head.epoch, previous: { epoch: 'epoch00002', seq: 2, hash: 'b'.repeat(64) }, atMs: 2_000 },
    ]
    const asked: unknown[] = []
    const restored: Pick<Store, 'siteRecordsAfter' | 'epochLinks'> = {
      siteRecordsAfter: (...args) => store.siteRecordsAfter(...args),
      async epochLinks(...args) {
        asked.push(args)
        return links
      },
    }
    let text = ''
    for await (const piece of takeSnapshot({
      store: restored,
      view: viewOf(node, site.siteId),
      asOfMs: Date.now(),
      signer,
    }))
      text += Buffer.from(piece).toString()
    expect(asked).toEqual([[site.siteId, 16]])
    const lines = text
      .split('\n')
      .slice(0, -1)
      .map((line) => parseSnapshotLine(JSON.parse(line)))
    expect(lines.slice(0, 4).map((line) => line?.type)).toEqual(['head', 'epoch', 'epoch', 'site'])
    for (const [i, { epoch, previous, atMs }] of links.entries()) {
      const { type: _, ...statement } = lines[i + 1] as EpochLine
      expect(statement).toMatchObject({
        site_id: site.siteId,
        epoch,
        previous,
        at: formatTime(atMs),
        kid: 'key',
      })
      expect(await checkEpochStatement(statement, signer.key.publicKey)).toBe(true)
    }
  })

  it('leaves out tokens that have ended long ago', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { token } = await live(node, site)
    const { store } = node.service.deps
    const signer = { kid: 'key', key: await generatePrivateKey('Ed25519') }
    const at = async (asOfMs: number) => {
      let text = ''
      for await (const piece of takeSnapshot({
        store,
        view: viewOf(node, site.siteId),
        asOfMs,
        signer,
      }))
        text += Buffer.from(piece).toString()
      return text
    }
    expect(await at(Date.now() + DAY_MS)).toContain(token.sha256)
    expect(await at(Date.now() + DAY_MS + 3_700_000)).not.toContain(token.sha256)
  })

  it('is for keys of the site that may read the feed, and for the operator (A190)', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const blind = await node.newKey(site.siteId, ['tokens:revoke'])
    const operator = await node.newKey(null, [])
    const codes: Record<string, string | number> = {}
    for (const [name, key] of Object.entries({
      none: undefined,
      other: other.key,
      blind: blind.key,
      operator: operator.key,
    })) {
      const response = await node.call('GET', path(site.siteId), key === undefined ? {} : { key })
      codes[name] = response.json?.code ?? response.status
    }
    expect(codes).toEqual({
      none: 'api_key_missing',
      other: 'not_found',
      blind: 'api_key_forbidden',
      operator: 200,
    })
    const nowhere = await node.call('GET', path('nowhere.example'), { key: operator.key })
    expect(nowhere.json.code).toBe('not_found')
  })

  it('has nothing of other sites (I-15)', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    await live(node, site)
    const response = await node.call('GET', path(other.siteId), { key: other.key })
    expect(typesOf(response)).toEqual(['head', 'site', 'end'])
  })

  it('is refused to a client with another version of the feed', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const response = await node.call('GET', path(site.siteId), {
      key: site.key,
      headers: { 'feed-version': '2' },
    })
    expect([response.status, response.json.code, response.json.errors[0].path]).toEqual([
      422,
      'validation_failed',
      'feed-version',
    ])
    expect(
      (await node.call('GET', path(site.siteId), { key: site.key, headers: { 'feed-version': '1' } })).status,
    ).toBe(200)
  })

  it('is answered with 304, without a lease, to a caller that has it already', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { store } = node.service.deps
    const declared = { 'x-verifier-instance': 'one', 'x-verifier-max-staleness': '30' }
    const ask = (ifNoneMatch: string, method = 'GET') =>
      node.call(method, path(site.siteId), {
        key: site.key,
        headers: { ...declared, 'if-none-match': ifNoneMatch },
      })
    const leases = async () => (await store.leases(site.siteId, { after: undefined, limit: 10 })).length
    const { epoch, seq } = viewOf(node, site.siteId).head
    const tag = `W/"${epoch}.${seq}"`
    for (const named of [tag, `"${epoch}.${seq}"`, `"other", ${tag}`, '*'])
      for (const method of ['GET', 'HEAD']) {
        const answer = await ask(named, method)
        expect([answer.status, answer.headers.etag, answer.text]).toEqual([304, tag, ''])
        expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', vary: 'accept-encoding' })
        expect(answer.headers).not.toHaveProperty('content-length')
      }
    expect(await leases()).toBe(0)
    for (const named of ['', `"${epoch}.${seq - 1}"`, `${epoch}.${seq}`, '"*"']) {
      const answer = await ask(named)
      expect([answer.status, answer.headers.etag]).toEqual([200, tag])
    }
    expect(await leases()).toBe(1)
    // The next entry changes the tag.
    await node.call('POST', '/api/wallet/revoke-user', {
      key: site.key,
      body: { site_id: site.siteId, ppid: newPpid() },
    })
    const answer = await ask(tag)
    expect([answer.status, answer.headers.etag]).toEqual([200, `W/"${epoch}.${seq + 1}"`])
    expect(answer.text).toContain('"type":"user"')
  })

  it('is not answered with 304 where it would not be answered with 200 (A190, I-3)', async () => {
    const node = await home().open()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const blind = await node.newKey(site.siteId, ['tokens:revoke'])
    const ask = (key: string | undefined) =>
      node.call('GET', path(site.siteId), {
        ...(key !== undefined && { key }),
        headers: { 'if-none-match': '*' },
      })
    expect((await ask(undefined)).json.code).toBe('api_key_missing')
    expect((await ask(other.key)).json.code).toBe('not_found')
    expect((await ask(blind.key)).json.code).toBe('api_key_forbidden')
    expect((await ask(site.key)).status).toBe(304)
    const views = node.service.deps.views as { readiness: () => object }
    views.readiness = () => ({ ready: false, why: 'test' })
    expect((await ask(site.key)).json.code).toBe('revocation_view_stale')
  })

  it('is refused by a node that has not heard from its store (I-3)', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const views = node.service.deps.views as { readiness: () => object }
    const { readiness } = views
    views.readiness = () => ({ ready: false, why: 'test' })
    const response = await node.call('GET', path(site.siteId), { key: site.key })
    expect([response.status, response.json.code]).toEqual([503, 'revocation_view_stale'])
    views.readiness = readiness
    expect((await node.call('GET', path(site.siteId), { key: site.key })).status).toBe(200)
  })
})
