import { createGuard, type Guard } from '@countersign/sdk'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { start } from './countersign.ts'
import { expectAnswer, type Home, openHome } from './home.ts'

let home: Home
const open = new Set<{ close(): unknown }>()
beforeAll(async () => {
  home = await openHome()
})
afterEach(async () => {
  for (const each of open) await each.close()
  open.clear()
})
afterAll(() => home?.close())

/** A verifier as an integrator has it. */
async function openGuard(verifierId: string): Promise<Guard> {
  const { base_url, site_id, site_key } = home.dev
  const guard = createGuard({ baseUrl: base_url, siteId: site_id, apiKey: site_key, verifierId })
  open.add(guard)
  await guard.ready()
  return guard
}

/** Follows the feed and never says how far. */
async function openSilent(verifierId: string): Promise<void> {
  const stop = new AbortController()
  open.add({ close: () => stop.abort() })
  const headers = { 'x-api-key': home.dev.site_key, 'x-verifier-id': verifierId }
  const response = await fetch(`${home.dev.base_url}/api/sites/${home.dev.site_id}/feed`, {
    headers,
    signal: stop.signal,
  })
  expect(response.status).toBe(200)
  void response.body?.pipeTo(new WritableStream()).catch(() => undefined)
}

let users = 0
const newUser = () => `did:service:ppid_propagation-${++users}`

test('a revocation that is waited for ends with the receipt of every connected verifier', {
  tags: 'long',
}, async () => {
  await Promise.all(['guard-1', 'guard-2', 'guard-3'].map(openGuard))
  const { code, out } = await home.run(['revoke-user', newUser(), '--yes', '--wait', '10'])
  expect(code).toBe(0)
  expect(out).toMatch(/^applied by +3 of 3 verifiers, \d+ ms$/m)
  const asJson = await home.run(['revoke-user', newUser(), '--yes', '--wait', '--json'])
  expect(asJson.code).toBe(0)
  expectAnswer('revoke_user', asJson.json())
  expect(asJson.json().propagation).toMatchObject({ connected: 3, acknowledged: 3, laggards: [] })
})

test('one that does not confirm is named, and the command ends with 3; the revocation stands', {
  tags: 'long',
}, async () => {
  await openGuard('guard-1')
  await openSilent('silent')
  const ppid = newUser()
  const { code, out } = await home.run(['revoke-user', ppid, '--yes', '--wait', '1'])
  expect(code).toBe(3)
  expect(out).toMatch(/^applied by +1 of 2 verifiers, \d+ ms$/m)
  expect(out).toMatch(/^waiting for +silent at \d+$/m)
  expect((await home.run(['revoke-user', ppid, '--yes', '--json'])).json()).toMatchObject({
    already_revoked: true,
  })
})

test('without a connected verifier there is nothing to wait for', async () => {
  const { code, out } = await home.run(['revoke', 'cred_never-seen-1', '--yes', '--wait', '3'])
  expect(code).toBe(0)
  expect(out).toMatch(/^applied by +no verifier is connected$/m)
})

test('verifiers lists who follows the site, and how far behind', { tags: 'long' }, async () => {
  await openGuard('guard-1')
  await openSilent('silent')
  await home.run(['revoke-user', newUser(), '--yes', '--wait', '1'])
  const { code, out } = await home.run(['verifiers'])
  expect(code).toBe(0)
  expect(out).toMatch(/^VERIFIER +INSTANCE +STATE +APPLIED +LAG +BOUND +HEARD$/m)
  expect(out).toMatch(/^guard-1 +[0-9a-f]{8} +connected +\d+ +0 +30 s +\d+ s ago$/m)
  expect(out).toMatch(/^silent +- +connected +0 +[1-9]\d* +- +-$/m)
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  expectAnswer('list_verifiers', (await home.run(['verifiers', '--json'])).json())
})

test('verifiers --dismiss ends an instance that fails open and is gone', { tags: 'long' }, async () => {
  const stop = new AbortController()
  const headers = {
    'x-api-key': home.dev.site_key,
    'x-verifier-id': 'lost',
    'x-verifier-instance': 'feedc0de0123456789',
    'x-verifier-max-staleness': '30',
    'x-verifier-fail-open': '1',
  }
  const url = `${home.dev.base_url}/api/sites/${home.dev.site_id}/feed`
  const response = await fetch(url, { headers, signal: stop.signal })
  void response.body?.pipeTo(new WritableStream()).catch(() => undefined)
  const dismiss = (...more: string[]) => home.run(['verifiers', '--dismiss', 'feedc0de', ...more])
  // A node adds an instance to the roster a moment after it has accepted its connection.
  await expect.poll(async () => (await home.run(['verifiers'])).out).toContain('feedc0de')
  expect(await dismiss('--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('The instance feedc0de0123456789 is connected, so it cannot be dismissed.'),
  })
  stop.abort()
  await expect
    .poll(async () => (await home.run(['verifiers'])).out)
    .toMatch(/^lost +feedc0de +gone +\d+ +\d+ +fails open /m)
  expect((await home.run(['revoke-user', newUser(), '--yes', '--wait', '1'])).out).toMatch(
    /^denied everywhere +unknown: lost feedc0de fails open$/m,
  )
  expect((await dismiss()).code).toBe(2)
  expect((await dismiss('--yes', '--json')).json()).toEqual({
    instance_id: 'feedc0de0123456789',
    dismissed: true,
  })
  await expect.poll(async () => (await home.run(['verifiers'])).out).not.toContain('feedc0de')
  expect((await home.run(['verifiers', '--state', 'retired'])).out).toMatch(/^lost +feedc0de +retired /m)
  const shown = await home.run(['verifiers', '--instance', 'feedc0de0123456789'])
  expect(shown.out).toMatch(/^retired_by +operator$/m)
  expect((await home.run(['verifiers', '--instance', 'unknown'])).code).toBe(1)
  expect((await home.run(['verifiers', '--state', 'lost'])).code).toBe(2)
  expect((await dismiss('--yes')).code).toBe(1)
})

test('a receipt says from when on the user is denied everywhere, in 80 columns', async () => {
  const guard = await openGuard('guard-1')
  const [first, second] = [
    await home.run(['revoke-user', newUser(), '--yes', '--wait', '10']),
    await openGuard('guard-1'),
  ]
  expect(first.out).toMatch(/^denied everywhere +(since \S+Z|from \S+Z, in \d+ s)$/m)
  await second.close()
  await guard.close()
  const closed = await home.run(['revoke-user', newUser(), '--yes', '--wait', '10'])
  expect(closed.out).toMatch(/^applied by +no verifier is connected$/m)
  expect(closed.out).not.toMatch(/not connected {2}/)
  for (const line of `${first.out}\n${closed.out}`.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test('watch counts the verifiers, and receipts do not count it', { tags: 'long' }, async () => {
  await openGuard('guard-1')
  const watching = start(['watch'], { cwd: home.directory })
  await watching.until('1 verifier, none behind')
  const { code, out } = await home.run(['revoke-user', newUser(), '--yes', '--wait', '10'])
  expect(code).toBe(0)
  expect(out).toMatch(/^applied by +1 of 1 verifiers/m)
  await watching.until('user.revoked')
  watching.kill('SIGINT')
  expect((await watching.ended).code).toBe(0)
})
