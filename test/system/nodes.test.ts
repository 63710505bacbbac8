import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Made } from '../../packages/service/test/party.ts'
import { freePort } from '../../packages/service/test/store/postgres-server.ts'
import { addIssuer, type Client, createClient, type Issuer, type Told } from '../process/client.ts'
import { readOutside, withDatabase } from '../process/outside-log.ts'
import { createHome, pause, startService } from '../process/service-process.ts'
import { startTwoNodes, type TwoNodes } from '../process/two-nodes.ts'

/**
 * B_node of the contract: how long a revocation may take to every node. A bound of correctness, not
 * of speed.
 */
const NODE_BOUND_MS = 2000
const SETUP_MS_MAX = 300_000
const TEST_MS_MAX = 300_000

let nodes: TwoNodes
let one: Client
let two: Client
let issuer: Issuer

beforeAll(async () => {
  nodes = await startTwoNodes()
  one = nodes.one
  two = nodes.two
  issuer = await addIssuer(one, nodes.dev)
}, SETUP_MS_MAX)
beforeEach(async () => {
  const made = await issuer.issue()
  await expect.poll(async () => (await two.show(made.header)).status).toBe(200)
}, SETUP_MS_MAX)
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail')
    for (const { output } of [nodes.first, nodes.second]) console.error(output())
  nodes.proxy.release()
  expect((await readOutside(nodes.home)).faults).toEqual([])
})
afterAll(() => nodes?.close(), SETUP_MS_MAX)

const outcome = ({ status, body }: Told): number | string => body?.code ?? status

async function tokenFor({ document }: Made): Promise<string> {
  const told = await one.exchange(document)
  expect(outcome(told)).toBe(200)
  return told.body.access_token
}

/** The answers until it is over, the first of which was asked for at once. */
async function askUntil(
  ask: () => Promise<Told>,
  isOver: (told: Told) => boolean,
  msMax: number,
): Promise<Told> {
  const untilMs = performance.now() + msMax
  for (;;) {
    // A question counts when it is asked in time, whenever its answer comes.
    const isLast = performance.now() >= untilMs
    const told = await ask()
    if (isOver(told) || isLast) return told
    await pause(20)
  }
}

describe('two nodes on one PostgreSQL', () => {
  test('what is revoked on one is refused by the other within two seconds (I-2)', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const [user, single, holder] = [await issuer.issue(), await issuer.issue(), await issuer.issue()]
    const [token, derived] = [await tokenFor(holder), await tokenFor(user)]
    expect(
      await Promise.all([user, single].map(async ({ header }) => (await two.show(header)).status)),
    ).toEqual([200, 200])
    expect([outcome(await two.bearer(token)), outcome(await two.bearer(derived))]).toEqual([200, 200])
    const acknowledged = await Promise.all([
      one.revokeUser(user.ppid),
      one.revokeCredential(single.id),
      one.revokeToken(token),
    ])
    expect(acknowledged.map(outcome)).toEqual([200, 200, 200])
    const refused = ({ status }: Told) => status === 401
    const last = await Promise.all([
      askUntil(() => two.show(user.header), refused, NODE_BOUND_MS),
      askUntil(() => two.show(single.header), refused, NODE_BOUND_MS),
      askUntil(() => two.bearer(token), refused, NODE_BOUND_MS),
      askUntil(() => two.bearer(derived), refused, NODE_BOUND_MS),
    ])
    expect(last.map(({ body }) => body.code)).toEqual([
      'credential_revoked',
      'credential_revoked',
      'token_invalid',
      'token_invalid',
    ])
    expect((await two.introspect(token)).body).toEqual({ active: false })
  })

  test('a node that is told how far it must know never accepts what was revoked there (A231, I-4)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const codes = new Set<string>()
    for (let i = 0; i < 15; i++) {
      const made = await issuer.issue()
      const { body } = await one.revokeUser(made.ppid)
      const [verified, status] = await Promise.all([
        two.verify(made.header, `${body.epoch}.${body.seq}`),
        two.ask(
          'GET',
          `/api/wallet/revocation-status?credential_ids=${made.id}&site_id=${nodes.dev.site_id}&min_seq=${body.epoch}.${body.seq}`,
        ),
      ])
      codes.add(verified.body.code)
      expect(status.status === 503 || status.body.as_of.seq >= body.seq).toBe(true)
    }
    expect(
      [...codes].filter((code) => !['credential_revoked', 'revocation_view_stale'].includes(code)),
    ).toEqual([])
    const { body } = await one.revokeUser((await issuer.issue()).ppid)
    const ahead = await two.verify((await issuer.issue()).header, `${body.epoch}.${body.seq + 1000}`)
    expect(ahead.body.code).toBe('revocation_view_stale')
  })

  test('one Idempotency-Key on both nodes at once is one revocation and one answer (A235, I-17)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    for (let i = 0; i < 5; i++) {
      const { ppid } = await issuer.issue()
      const headers = { 'Idempotency-Key': randomUUID() }
      const before = (await readOutside(nodes.home)).entries.length
      const told = await Promise.all([one, two, one, two].map((node) => node.revokeUser(ppid, headers)))
      expect(told.map(outcome)).toEqual([200, 200, 200, 200])
      for (const { body } of told) expect(body).toEqual({ ...told[0]?.body, already_revoked: false })
      expect((await readOutside(nodes.home)).entries.length).toBe(before + 1)
    }
  })

  test('an API key that is deleted on one is dead on the other within two seconds (A148)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const keys = `/api/sites/${nodes.dev.site_id}/keys`
    const made = await one.ask('POST', keys, {
      key: nodes.dev.operator_key,
      body: { permissions: ['tokens:introspect'] },
    })
    expect(outcome(made)).toBe(201)
    const use = () =>
      two.ask('POST', '/api/auth/introspect', { key: made.body.api_key, body: { token: 'svc_at_none' } })
    expect(outcome(await use())).toBe(200)
    expect(
      (await one.ask('DELETE', `${keys}/${made.body.key_id}`, { key: nodes.dev.operator_key })).status,
    ).toBe(204)
    expect((await askUntil(use, ({ status }) => status === 401, NODE_BOUND_MS)).body.code).toBe(
      'api_key_invalid',
    )
  })
})

describe('a node that is cut off from its database', () => {
  test.each([
    ['held, so that nothing arrives and nothing fails', () => nodes.proxy.hold()],
    ['held, with every connection reset', () => (nodes.proxy.hold(), nodes.proxy.cut())],
  ])(
    'refuses everything within two seconds and comes back by itself: %s (I-3, I-16, A144, A180)',
    { tags: 'long', timeout: TEST_MS_MAX },
    async (_, cut) => {
      const [living, there, here] = [await issuer.issue(), await issuer.issue(), await issuer.issue()]
      const [token, doomed] = [await tokenFor(living), await tokenFor(living)]
      expect([(await two.show(living.header)).status, (await two.bearer(token)).status]).toEqual([200, 200])
      const before = (await readOutside(nodes.home)).entries.length

      cut()
      // Sent while it still believes in its database: may be written or not, but must not be
      // acknowledged.
      const [byUser, byToken] = await Promise.all([two.revokeUser(here.ppid), two.revokeToken(doomed)])
      expect([byUser.status, byToken.status]).toEqual([503, 503])
      // By now the view is older than it may be, and no caller is accepted because of it.
      const stale = await askUntil(
        () => two.show(living.header),
        ({ status }) => status === 503,
        NODE_BOUND_MS,
      )
      expect(stale.body.code).toBe('revocation_view_stale')
      expect([(await two.bearer(token)).status, await two.ready()]).toEqual([503, false])
      expect((await one.revokeUser(there.ppid)).status).toBe(200)
      expect((await two.show(there.header)).status).toBe(503)

      nodes.proxy.release()
      await expect.poll(() => two.ready()).toBe(true)
      expect((await two.show(living.header)).status).toBe(200)
      expect((await two.show(there.header)).body.code).toBe('credential_revoked')

      const { entries } = await readOutside(nodes.home)
      const isLogged = entries.slice(before).some(({ body }) => body.ppid === here.ppid)
      const isTokenLogged = entries.slice(before).some(({ kind }) => kind === 'token.revoked')
      expect([(await two.show(here.header)).status, (await two.bearer(doomed)).status]).toEqual([
        isLogged ? 401 : 200,
        isTokenLogged ? 401 : 200,
      ])
      const again = await askUntil(
        () => two.revokeUser(here.ppid),
        ({ status }) => status === 200,
        60_000,
      )
      expect(again.body.already_revoked).toBe(isLogged)
      expect((await two.revokeToken(doomed)).body.revoked).toBe(!isTokenLogged)
      expect([(await two.show(here.header)).status, (await two.bearer(doomed)).status]).toEqual([401, 401])
    },
  )

  test('accepts no caller for more than two seconds after the cut', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { header } = await issuer.issue()
    expect((await two.show(header)).status).toBe(200)
    nodes.proxy.hold()
    const cutMs = performance.now()
    let acceptedMs = 0
    for (let isOver = false; !isOver; await pause(20)) {
      const askedMs = performance.now() - cutMs
      const { status } = await two.show(header)
      if (status === 200) acceptedMs = askedMs
      isOver = askedMs > NODE_BOUND_MS * 1.5
    }
    expect(acceptedMs).toBeLessThanOrEqual(NODE_BOUND_MS)
  })
})

describe('starting', () => {
  test('two nodes at once on an empty database: the schema is made once, and both serve (A233)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const empty = await createHome({ databaseUrl: await nodes.server.createDatabase() })
    const both = await Promise.all([startService(empty), startService(empty, { port: await freePort() })])
    expect(await Promise.all(both.map(({ url }) => createClient(url, nodes.dev).ready()))).toEqual([
      true,
      true,
    ])
    const rows = await withDatabase(empty, async (ask) => [
      await ask('SELECT version FROM schema_version'),
      await ask('SELECT epoch FROM log'),
    ])
    expect(rows.map(({ length }) => length)).toEqual([1, 1])
    const documents = await Promise.all(
      both.map(
        async ({ url }) => (await createClient(url, nodes.dev).ask('GET', '/.well-known/did.json')).body,
      ),
    )
    expect(documents[1]).toEqual(documents[0])
    expect(await Promise.all(both.map((node) => node.stop()))).toEqual([0, 0])
  })
})
