import { copyFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { SiteId } from '@countersign/core'
import { afterEach, describe, expect, test } from 'vitest'
import { readHeadFile } from '../../packages/service/src/log/head-file.ts'
import { addIssuer, createClient } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  furnish,
  runCommand,
  type ServiceHome,
  startFurnished,
  startService,
} from '../process/service-process.ts'

const TEST_MS_MAX = 600_000
const SITE = 'demo.localhost' as SiteId

afterEach(cleanUp)

const headFile = ({ dataDir }: ServiceHome) => join(dataDir, 'countersign.heads')

/** A service that was killed after ten revocations, and whose write-ahead log then lost its end. */
async function cutShort() {
  const home = await createHome()
  const node = await startFurnished(home)
  const { dev } = node
  const client = createClient(node.url, dev)
  const issuer = await addIssuer(client, dev)
  const users = await Promise.all(Array.from({ length: 10 }, () => issuer.issue()))
  let seq = 0
  for (const { ppid } of users) seq = (await client.revokeUser(ppid)).body.seq
  await expect.poll(() => readHeadFile(headFile(home))?.heads.get(SITE)?.seq).toBe(seq)
  await node.kill('SIGKILL')
  const wal = `${home.file}-wal`
  truncateSync(wal, Math.floor(statSync(wal).size * 0.85))
  return { home, client, lastUser: users.at(-1) as (typeof users)[number], seq }
}

describe('B6: a write-ahead log that has lost its end (A274)', () => {
  test('is noticed at the start: not ready, nothing decided, until an operator accepts it', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, client, lastUser, seq } = await cutShort()
    for (let start = 0; start < 2; start++) {
      const node = await startService(home, { readyOrNot: true })
      expect(await client.ready()).toBe(false)
      expect((await client.show(lastUser.header)).body.code).toBe('revocation_view_stale')
      expect(node.output()).toMatch(
        /proves entry \d+ of demo\.localhost, and the log of the site ends at \d+: \d+ entries are lost/,
      )
      expect(node.output()).toContain('countersign accept-rollback')
      expect(await node.stop()).toBe(0)
    }
    expect(await runCommand(home, ['audit-log'])).toMatchObject({ code: 0 })

    const looked = await runCommand(home, ['accept-rollback'])
    expect(looked).toMatchObject({
      code: 3,
      said: expect.stringContaining(`demo.localhost: entry ${seq} of epoch`),
    })
    const accepted = await runCommand(home, ['accept-rollback', '--yes', '--json'])
    expect(accepted.code).toBe(0)
    expect(JSON.parse(accepted.said)).toMatchObject({ changed: true, lost: [{ site_id: SITE, seq }] })
    const [, aside = ''] = /as it was before: (\S+)/.exec(accepted.noted) ?? []
    expect(existsSync(aside)).toBe(true)
    expect((await runCommand(home, ['operator-audit'])).said).toContain('  log.accept_rollback ')

    const node = await startService(home)
    expect(await client.ready()).toBe(true)
    expect((await client.show(lastUser.header)).status).toBe(200)
    expect((await client.revokeUser(lastUser.ppid)).status).toBe(200)
    await expect
      .poll(() => readHeadFile(headFile(home))?.heads.get(SITE)?.epoch)
      .toBe(JSON.parse(accepted.said).epoch)
    // Afterwards there is nothing to accept, so no other epoch begins.
    await node.stop()
    for (const flags of [[], ['--yes']])
      expect(await runCommand(home, ['accept-rollback', ...flags])).toMatchObject({
        code: 0,
        said: 'Nothing is missing. There is nothing to accept.\n',
      })
  })

  test('goes unnoticed without the head file: control arm', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, client, lastUser } = await cutShort()
    rmSync(headFile(home))
    await startService(home)
    expect(await client.ready()).toBe(true)
    expect((await client.show(lastUser.header)).status).toBe(200)
  })
})

describe('the head file', () => {
  test('does not stand in the way of a restore, a new epoch, or a kill', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await createHome()
    const dev = await furnish(home)
    const copy = join(home.dataDir, 'one.copy')
    expect(await runCommand(home, ['backup', copy])).toMatchObject({ code: 0 })
    let node = await startService(home)
    const client = createClient(node.url, dev)
    const issuer = await addIssuer(client, dev)
    expect((await client.revokeUser((await issuer.issue()).ppid)).status).toBe(200)
    await node.kill('SIGKILL')
    node = await startService(home)
    expect(await node.stop()).toBe(0)
    // The second time, the backup does not continue the epoch that began with the first.
    for (const argv of [['restore', copy, '--yes'], ['restore', copy, '--yes'], ['new-epoch']]) {
      expect(await runCommand(home, argv)).toMatchObject({ code: 0 })
      node = await startService(home)
      expect(await node.stop()).toBe(0)
      expect(node.output()).not.toContain('lost')
    }
  })

  test('does not let a raw copy of the store from before take its place (A274)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await createHome()
    const dev = await furnish(home)
    const copy = `${home.file}.copy`
    copyFileSync(home.file, copy)
    const node = await startService(home)
    const client = createClient(node.url, dev)
    const issuer = await addIssuer(client, dev)
    const { ppid, header } = await issuer.issue()
    expect((await client.revokeUser(ppid)).status).toBe(200)
    expect(await node.stop()).toBe(0)
    for (const ending of ['-wal', '-shm']) rmSync(home.file + ending, { force: true })
    copyFileSync(copy, home.file)
    const again = await startService(home, { readyOrNot: true })
    expect(await client.ready()).toBe(false)
    expect((await client.show(header)).status).not.toBe(200)
    expect(again.output()).toContain('entries are lost')
    expect(readFileSync(headFile(home), 'utf8')).toContain(SITE)
  })
})
