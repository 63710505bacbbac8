import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { addIssuer, createClient } from '../process/client.ts'
import { readOutside } from '../process/outside-log.ts'
import { cleanUp, createHome, furnish, runCommand, startService } from '../process/service-process.ts'

const TEST_MS_MAX = 300_000

afterEach(cleanUp)

async function begin() {
  const home = await createHome()
  const dev = await furnish(home)
  const node = await startService(home)
  const client = createClient(node.url, dev)
  return { home, node, client, issuer: await addIssuer(client, dev) }
}

const serve = (home: Parameters<typeof runCommand>[0]) =>
  runCommand(home, ['serve', '--admin-port', 'off', '--port', '0'])

describe('B7: the files of an embedded store that runs', () => {
  test.each([
    ['removed', (file: string) => rmSync(file)],
    [
      'replaced by another file',
      (file: string) => (renameSync(file, `${file}.old`), writeFileSync(file, '', { mode: 0o600 })),
    ],
  ])(
    'the database, %s, ends the process with 70',
    { tags: 'long', timeout: TEST_MS_MAX },
    async (_, harm) => {
      const { home, node } = await begin()
      harm(home.file)
      expect(await node.ended).toBe(70)
      expect(node.output()).toMatch(/countersign\.db is (?:missing|another file).*countersign restore/)
    },
  )

  test('the write-ahead log, removed, ends the process with 70, and no acknowledged change is lost', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, node, client, issuer } = await begin()
    const [before, after] = [await issuer.issue(), await issuer.issue()]
    expect((await client.revokeUser(before.ppid)).status).toBe(200)
    rmSync(`${home.file}-wal`)
    const { status } = await client.revokeUser(after.ppid)
    // 503 when the service has noticed before: then that one was not acknowledged.
    expect([200, 503]).toContain(status)
    expect(await node.ended).toBe(70)
    expect(node.output()).toContain('countersign.db-wal is missing')
    await startService(home)
    for (const { header } of status === 200 ? [before, after] : [before])
      expect((await client.show(header)).body.code).toBe('credential_revoked')
    expect((await readOutside(home)).faults).toEqual([])
  })

  test('untouched, do not end it: control arm', { tags: 'long', timeout: TEST_MS_MAX }, async () => {
    const { home, node, client, issuer } = await begin()
    // Beside the files of the store anything may come and go.
    writeFileSync(`${home.file}.note`, 'x')
    rmSync(`${home.file}.note`)
    const { ppid } = await issuer.issue()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect((await client.revokeUser(ppid)).status).toBe(200)
    expect(await node.stop()).toBe(0)
  })
})

describe('B7: serve creates no embedded store', () => {
  test('where there is none, in the place of one that was removed, and in a file that lost its contents', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, node } = await begin()
    expect(await node.stop()).toBe(0)
    const empty = await createHome()
    expect(await serve(empty)).toMatchObject({
      code: 1,
      said: expect.stringMatching(/there is no store at .*countersign init.*restore/),
    })
    expect(existsSync(empty.file)).toBe(false)
    mkdirSync(empty.dataDir, { mode: 0o700 })
    writeFileSync(empty.file, '', { mode: 0o600 })
    expect(await serve(empty)).toMatchObject({
      code: 1,
      said: expect.stringContaining('there is no store at'),
    })

    for (const name of readdirSync(home.dataDir))
      if (name.startsWith('countersign.db')) rmSync(join(home.dataDir, name))
    expect(await serve(home)).toMatchObject({
      code: 1,
      said: expect.stringContaining('there is no store at'),
    })
    expect(existsSync(home.file)).toBe(false)
  })

  test('but serves one that migrate has made: control arm', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await createHome()
    expect(await runCommand(home, ['migrate'])).toMatchObject({ code: 0 })
    const node = await startService(home)
    expect(await node.stop()).toBe(0)
  })
})
