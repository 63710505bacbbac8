import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AccessEnded, createGuard, type Guard, type GuardOptions } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { addIssuer, type Client, createClient, type Issuer } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  runCommand,
  type ServiceHome,
  type ServiceProcess,
  startFurnished,
  startService,
} from '../process/service-process.ts'

const SETUP_MS_MAX = 300_000
const SOON = { interval: 20 }
const ROUTE = 'http://demo.localhost/api/orders?page=2'

let home: ServiceHome
let dev: DevFile
let service: ServiceProcess
let client: Client
let issuer: Issuer
beforeAll(async () => {
  home = await createHome()
  const furnished = await startFurnished(home)
  service = furnished
  dev = furnished.dev
  client = createClient(home.baseUrl, dev)
  issuer = await addIssuer(client, dev)
}, SETUP_MS_MAX)
afterAll(cleanUp, SETUP_MS_MAX)

let guards: Guard[] = []
afterEach(async () => {
  await Promise.all(guards.map((guard) => guard.close()))
  guards = []
})
const make = (options: Partial<GuardOptions> = {}): Guard => {
  const guard = createGuard({
    baseUrl: home.baseUrl,
    siteId: dev.site_id,
    apiKey: dev.site_key,
    onStateChange: () => undefined,
    ...options,
  })
  guards.push(guard)
  return guard
}
const ready = async (options: Partial<GuardOptions> = {}) => {
  const guard = make(options)
  await guard.ready()
  return guard
}
const loadCode = async (guard: Guard, headers: Record<string, string>) => {
  const verdict = await guard.verify(testRequest('GET', ROUTE, headers), { scope: 'orders:read' })
  return verdict.ok ? 'allowed' : verdict.code
}
const shown = (guard: Guard, header: string) => loadCode(guard, { 'x-service-credential': header })
const borne = (guard: Guard, token: string) => loadCode(guard, { authorization: `Bearer ${token}` })
const waiting = { Prefer: 'wait=20' }

describe('a guard that follows a real service', { timeout: SETUP_MS_MAX }, () => {
  test('accepts what is good, and denies what was revoked as soon as the receipt says that it knows', {
    tags: 'long',
  }, async () => {
    const guard = await ready({ verifierId: 'checkout' })
    const [one, two] = [await issuer.issue(), await issuer.issue()]
    expect([await shown(guard, one.header), await shown(guard, two.header)]).toEqual(['allowed', 'allowed'])
    const signal = guard.signal(await admitted(guard, two.header))
    const { body } = await client.revokeUser(one.ppid, waiting)
    expect(body.propagation).toMatchObject({ acknowledged: body.propagation.connected, laggards: [] })
    expect(guard.state().seq).toBeGreaterThanOrEqual(body.seq)
    expect([await shown(guard, one.header), await shown(guard, two.header)]).toEqual([
      'credential_revoked',
      'allowed',
    ])
    expect(signal.aborted).toBe(false)
    await client.revokeCredential(two.id, waiting)
    expect(await shown(guard, two.header)).toBe('credential_revoked')
    expect(signal.reason).toBeInstanceOf(AccessEnded)
    const session = { ppid: two.ppid, credentialId: two.id, verifiedAt: Date.now() }
    expect(guard.isActive(session)).toMatchObject({ active: false, stale: false, code: 'credential_revoked' })
  })

  test('reports when it applied a revocation and when it first denied, and receipts and statistics show it', {
    tags: 'long',
  }, async () => {
    const guard = await ready({ verifierId: 'reporting' })
    const [one, two] = [await issuer.issue(), await issuer.issue()]
    expect([await shown(guard, one.header), await shown(guard, two.header)]).toEqual(['allowed', 'allowed'])
    const denied = (async () => {
      while ((await shown(guard, one.header)) === 'allowed') await new Promise(setImmediate)
    })()
    const { body } = await client.revokeUser(one.ppid)
    const { body: next } = await client.revokeUser(two.ppid, waiting)
    await denied
    const read = async (seq: number) =>
      (await client.ask('GET', `/api/sites/${dev.site_id}/receipts/${seq}`, { key: dev.site_key })).body
    await expect.poll(async () => (await read(next.seq)).state).toBe('complete')
    const own = async (seq: number) =>
      (await read(seq)).verifiers.find(
        ({ verifier_id }: { verifier_id: string }) => verifier_id === 'reporting',
      )
    const [first, second] = [await own(body.seq), await own(next.seq)]
    for (const { applied_ms, after_ms } of [first, second]) {
      expect(applied_ms).toBeGreaterThanOrEqual(0)
      expect(applied_ms).toBeLessThanOrEqual(after_ms)
    }
    expect(first.first_denied_ms).toBeGreaterThanOrEqual(first.applied_ms)
    // It was not shown again before the receipt was written.
    expect(second.first_denied_ms).toBeNull()
    const stats = await client.ask('GET', `/api/sites/${dev.site_id}/propagation/stats?window=1h`, {
      key: dev.site_key,
    })
    expect(
      stats.body.verifiers.find(({ verifier_id }: { verifier_id: string }) => verifier_id === 'reporting'),
    ).toMatchObject({ measure: 'applied', samples: 2, reported: 2 })
  })

  test('knows from the snapshot what was revoked before it came', async () => {
    const { header, ppid } = await issuer.issue()
    await client.revokeUser(ppid)
    expect(await shown(await ready(), header)).toBe('credential_revoked')
  })

  test('takes bearer tokens, and kills them with what they stand on', { tags: 'long' }, async () => {
    const guard = await ready()
    const made = await Promise.all([1, 2, 3].map(() => issuer.issue()))
    const tokens = await Promise.all(
      made.map(async ({ document }) => (await client.exchange(document)).body.access_token as string),
    )
    for (const token of tokens) expect(await borne(guard, token)).toBe('allowed')
    await client.revokeToken(tokens[0] ?? '')
    await client.revokeCredential(made[1]?.id ?? '', waiting)
    await expect.poll(() => borne(guard, tokens[0] ?? ''), SOON).toBe('token_invalid')
    expect(await borne(guard, tokens[1] ?? '')).toBe('token_invalid')
    expect(await borne(guard, tokens[2] ?? '')).toBe('allowed')
    await settings({ bearer: 'off' })
    await expect.poll(() => borne(guard, tokens[2] ?? ''), SOON).toBe('bearer_disabled')
    await settings({ bearer: 'on' })
    await expect.poll(() => borne(guard, tokens[2] ?? ''), SOON).toBe('token_invalid')
    expect(await borne(guard, `svc_at_${'0'.repeat(49)}`)).toBe('token_invalid')
  })

  test('says the same as the service about whatever it is shown', { tags: 'long' }, async () => {
    const guard = await ready()
    const [good, gone, other] = [await issuer.issue(), await issuer.issue(), await addIssuer(client, dev)]
    const distrusted = await other.issue()
    await client.revokeUser(gone.ppid, waiting)
    const did = String(distrusted.document.issuer)
    await client.ask('PATCH', `/api/sites/${dev.site_id}/issuers/${encodeURIComponent(did)}`, {
      key: dev.operator_key,
      body: { status: 'distrusted' },
    })
    await expect.poll(() => shown(guard, distrusted.header), SOON).toBe('issuer_untrusted')
    const headers = [
      good.header,
      gone.header,
      distrusted.header,
      '',
      'e30',
      `${good.header}=`,
      good.header.slice(0, -4),
      `${good.header}AAAA`,
    ]
    for (let i = 0; i < good.header.length; i += 41)
      headers.push(`${good.header.slice(0, i)}A${good.header.slice(i + 1)}`)
    for (const header of headers) {
      const { status, body } = await client.show(header)
      expect(await shown(guard, header), header).toBe(status === 200 ? 'allowed' : body.code)
    }
  })

  test('finds out that it has the wrong key, says so, and rejects every request', {
    tags: 'long',
  }, async () => {
    const guard = make({ apiKey: 'svc_sk_wrong' })
    guard.ready().catch(() => undefined)
    await expect.poll(() => guard.state().problem?.code, SOON).toBe('api_key_invalid')
    expect(await shown(guard, (await issuer.issue()).header)).toBe('revocation_view_stale')
  })

  test('A195 loses the feed when its key is deleted', { tags: 'long' }, async () => {
    const keys = `/api/sites/${dev.site_id}/keys`
    const { body } = await client.ask('POST', keys, {
      key: dev.operator_key,
      body: { permissions: ['feed:read'] },
    })
    const guard = await ready({ apiKey: body.api_key })
    await client.ask('DELETE', `${keys}/${body.key_id}`, { key: dev.operator_key })
    await expect.poll(() => guard.state().problem?.code, SOON).toBe('api_key_invalid')
  })

  test('believes only the feed keys that are pinned', async () => {
    const discovery = (await client.ask('GET', '/.well-known/countersign')).body
    const pins = Object.fromEntries(
      discovery.feed.keys.map((key: { kid: string; public_key_multibase: string }) => [
        key.kid,
        key.public_key_multibase,
      ]),
    )
    expect((await ready({ feedKeys: pins })).state().ready).toBe(true)
    const others = {
      [Object.keys(pins)[0] ?? '']: String((await issuer.issue()).document.issuer).slice('did:key:'.length),
    }
    const guard = make({ feedKeys: others })
    guard.ready().catch(() => undefined)
    await expect.poll(() => guard.state().problem?.code, SOON).toBe('snapshot_unsigned')
    expect(guard.state().ready).toBe(false)
  })

  test('S3 S6 follows rotations of the feed key by itself, with pins and without, and drops a compromised key', {
    tags: 'long',
  }, async () => {
    const { feed } = (await client.ask('GET', '/.well-known/countersign')).body
    const [{ kid, public_key_multibase, next_sha256 }] = feed.chain.slice(-1)
    const guards = [
      await ready(),
      await ready({ feedKeys: { [kid]: public_key_multibase, next: `sha256:${next_sha256}` } }),
    ]
    const { header } = await issuer.issue()
    for (const flag of ['--compromised', '--now']) {
      await service.stop()
      expect((await runCommand(home, ['rotate-feed-key', flag])).code).toBe(0)
      service = await startService(home)
      for (const guard of guards) {
        await expect.poll(() => guard.state(), SOON).toMatchObject({ connection: 'following', ready: true })
        await expect.poll(() => guard.state().problem, SOON).toBeUndefined()
        expect(await shown(guard, header)).toBe('allowed')
      }
    }
    const { keys, chain } = (await client.ask('GET', '/.well-known/countersign')).body.feed
    expect(keys.map((key: { kid: string }) => key.kid)).not.toContain(kid)
    expect(chain.slice(-2)).toMatchObject([
      { previous_kid: kid, previous_compromised: true },
      { previous_compromised: false },
    ])
  })

  test('has receipts that stay valid after a rotation of the feed key, but not if it was compromised', {
    tags: 'long',
  }, async () => {
    const verify = async (receipt: object) => {
      const file = join(home.dataDir, 'receipt.json')
      writeFileSync(file, JSON.stringify(receipt))
      const { code, said } = await runCommand(home, ['verify-receipt', file, '--url', home.baseUrl, '--json'])
      return [code, JSON.parse(said).valid]
    }
    const revokeAndRead = async () => {
      const { body } = await client.revokeUser((await issuer.issue()).ppid)
      const path = `/api/sites/${dev.site_id}/receipts/${body.seq}`
      const read = () => client.ask('GET', path, { key: dev.site_key })
      await expect.poll(async () => (await read()).status).toBe(200)
      return (await read()).body
    }
    const rotate = async (flag: string) => {
      await service.stop()
      expect((await runCommand(home, ['rotate-feed-key', flag])).code).toBe(0)
      service = await startService(home)
    }
    const first = await revokeAndRead()
    expect(await verify(first)).toEqual([0, true])
    await rotate('--now')
    const second = await revokeAndRead()
    expect(second.kid).not.toBe(first.kid)
    expect([await verify(first), await verify(second)]).toEqual([
      [0, true],
      [0, true],
    ])
    expect(await verify({ ...first, kid: second.kid })).toEqual([3, false])
    await rotate('--compromised')
    const third = await revokeAndRead()
    // The thief of a key could have signed anything in its name, and nothing in that of another.
    expect([await verify(first), await verify(second), await verify(third)]).toEqual([
      [0, true],
      [3, false],
      [0, true],
    ])
  })

  test('survives a restart of the service, and begins again in a new epoch', async () => {
    const guard = await ready()
    const { header } = await issuer.issue()
    const { epoch } = guard.state()
    await service.stop()
    expect(await shown(guard, header)).toBe('allowed')
    service = await startService(home)
    await expect.poll(() => guard.state().connection, SOON).toBe('following')
    expect(guard.state()).toMatchObject({ epoch, ready: true })
    await service.stop()
    const { code, noted } = await runCommand(home, ['new-epoch'])
    expect(noted + code).toMatch(/0$/)
    service = await startService(home)
    await expect.poll(() => guard.state().epoch, SOON).not.toBe(epoch)
    await expect.poll(() => shown(guard, header), SOON).toBe('allowed')
  })

  test('lets its process end once it is closed', { tags: 'long' }, () => {
    const program = `
      import { createGuard } from '@countersign/sdk'
      const guard = createGuard({ baseUrl: ${JSON.stringify(home.baseUrl)}, siteId: ${JSON.stringify(dev.site_id)}, apiKey: ${JSON.stringify(dev.site_key)} })
      await guard.ready()
      console.log(guard.state().connection !== 'idle')
      await guard.close()
    `
    const printed = execFileSync(
      process.execPath,
      ['--conditions=countersign-source', '--no-warnings', '--input-type=module'],
      {
        input: program,
        cwd: new URL('../..', import.meta.url),
        encoding: 'utf8',
        timeout: 60_000,
      },
    )
    expect(printed).toBe('true\n')
  })
})

async function admitted(guard: Guard, header: string) {
  const verdict = await guard.verify(testRequest('GET', ROUTE, { 'x-service-credential': header }))
  if (!verdict.ok) throw new Error(verdict.detail)
  return verdict
}

async function settings(body: object) {
  const { status } = await client.ask('PATCH', `/api/sites/${dev.site_id}`, { key: dev.operator_key, body })
  expect(status).toBe(200)
}
