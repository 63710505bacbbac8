import {
  encodeHeadHeader,
  formatTime,
  generatePrivateKey,
  type Heartbeat,
  type PrivateKey,
  signHeartbeat,
} from '@countersign/core'
import { expect, it } from 'vitest'
import { run } from '../operations/terminal.ts'
import { type FeedNode, type FeedSite, newPpid, onEachStore } from './feed-node.ts'

/** A heartbeat as this node would sign it, of any entry. */
async function head(
  node: FeedNode,
  { siteId }: FeedSite,
  changes: Partial<Heartbeat> = {},
  signer?: PrivateKey,
): Promise<Heartbeat> {
  const { keys, views, store } = node.service.deps
  const key = signer ?? keys.feedKey(Date.now()).key
  const { seq = 0, hash = '' } = views.view(siteId)?.head ?? {}
  const fields = {
    site_id: siteId,
    epoch: store.epoch,
    seq,
    hash,
    as_of: formatTime(Date.now()),
    max_age_seconds: 60,
  }
  return signHeartbeat({ ...fields, kid: key.publicKey.multikey, ...changes }, key)
}

const feedPath = ({ siteId }: FeedSite, cursor?: { epoch: string; seq: number }) =>
  `/api/sites/${siteId}/feed${cursor === undefined ? '' : `?after=${cursor.epoch}.${cursor.seq}`}`

/** Connects like a verifier that has applied the log up to there. */
function connect(
  node: FeedNode,
  site: FeedSite,
  shown: Heartbeat | string,
  cursor: { epoch: string; seq: number },
) {
  const header = typeof shown === 'string' ? shown : encodeHeadHeader(shown)
  return node.call('GET', feedPath(site, cursor), { key: site.key, headers: { 'x-verifier-head': header } })
}

const ready = async (node: FeedNode) => (await node.call('GET', '/readyz')).status
const metric = async (node: FeedNode, name: string) =>
  new RegExp(`^${name} (\\S+)`, 'm').exec(await node.service.deps.meters.text())?.[1]

onEachStore('the proof of a head that the store does not have (A274, B6)', (home) => {
  it.each([
    ['beyond its end', { seq: 99, hash: 'a'.repeat(64) }],
    ['in the place of another entry', { seq: 1, hash: 'a'.repeat(64) }],
  ])('%s ends readiness, loudly, and a new epoch brings it back', { tags: 'long' }, async (_, lost) => {
    const node = await home().open()
    const { store } = node.service.deps
    const site = await node.newSite()
    const proof = await head(node, site, lost)
    expect(await ready(node)).toBe(200)
    expect(await connect(node, site, proof, proof)).toMatchObject({
      status: 503,
      json: { code: 'revocation_view_stale' },
    })
    expect(await ready(node)).toBe(503)
    expect(await metric(node, 'countersign_log_rolled_back')).toBe('1')
    expect(node.logged.join('')).toContain('the store has lost part of the log')
    expect(node.logged.join('')).toContain('countersign accept-rollback')
    // Revoking goes on: it takes access away, and the new epoch will have it.
    const revoke = { key: site.key, body: { site_id: site.siteId, ppid: newPpid() } }
    expect((await node.call('POST', '/api/wallet/revoke-user', revoke)).status).toBe(200)

    if (home().kind === 'SQLite') return
    const before = store.epoch
    const { config } = node.service.deps
    const env = {
      COUNTERSIGN_DATABASE_URL: config.store.kind === 'postgres' ? config.store.url : '',
      COUNTERSIGN_MASTER_KEY: Buffer.from(config.masterKey).toString('hex'),
    }
    expect(await run(['accept-rollback', '--yes'], env)).toMatchObject({
      code: 0,
      said: expect.stringContaining('new epoch'),
    })
    await expect.poll(() => ready(node)).toBe(200)
    expect(store.epoch).not.toBe(before)
    expect(await metric(node, 'countersign_log_rolled_back')).toBe('0')
    // The same proof again is of a former epoch, and proves nothing any more.
    expect(await connect(node, site, proof, proof)).toMatchObject({ status: 409 })
    expect(await ready(node)).toBe(200)
  })

  it('ends it also when the key that signed was superseded, and not when that was marked as compromised', async () => {
    const node = await home().open()
    const { keys } = node.service.deps
    const site = await node.newSite()
    const old = await head(node, site, { seq: 99, hash: 'a'.repeat(64) })
    await keys.replaceCompromisedFeedKey(Date.now())
    expect(await connect(node, site, old, old)).toMatchObject({ status: 409 })
    expect(await ready(node)).toBe(200)

    const superseded = await head(node, site, { seq: 99, hash: 'a'.repeat(64) })
    await keys.rotate('feed', Date.now(), { leadMs: 0 })
    await keys.reload(Date.now() + 2 * 3_600_000)
    expect(keys.feedKeys.map(({ kid }) => kid)).not.toContain(superseded.kid)
    expect(await connect(node, site, superseded, superseded)).toMatchObject({ status: 503 })
    expect(await ready(node)).toBe(503)
  })

  it('is not a claim: what is not proven is 409 and a metric, and ends nothing (control arm)', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const { epoch } = node.service.deps.store
    const beyond = { epoch, seq: 99, hash: 'a'.repeat(64) }
    const good = await head(node, site, beyond)
    const foreign = await head(node, site, beyond, await generatePrivateKey('Ed25519'))
    const before = Number((await metric(node, 'countersign_feed_cursors_ahead_total')) ?? 0)
    const claims = [
      foreign,
      { ...good, seq: 98 },
      await head(node, other, beyond),
      'no proof',
      encodeHeadHeader(good).slice(0, -2),
    ]
    for (const claim of claims)
      expect(await connect(node, site, claim, beyond)).toMatchObject({ status: 409 })
    expect(await node.call('GET', feedPath(site, beyond), { key: site.key })).toMatchObject({ status: 409 })
    expect(await metric(node, 'countersign_feed_cursors_ahead_total')).toBe(
      String(before + claims.length + 1),
    )
    // A cursor of another epoch is nothing special.
    await node.call('GET', feedPath(site, { epoch: 'e0000000', seq: 99 }), { key: site.key })
    expect(await metric(node, 'countersign_feed_cursors_ahead_total')).toBe(
      String(before + claims.length + 1),
    )
    expect(await connect(node, site, 'x'.repeat(2049), beyond)).toMatchObject({ status: 422 })
    expect(await ready(node)).toBe(200)
    expect(await metric(node, 'countersign_log_rolled_back')).toBe('0')
  })
})
