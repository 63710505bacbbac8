import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { credentialHeader, importPrivateKey, signRequest } from '@countersign/core'
import { afterEach, describe, expect, test } from 'vitest'
import { openForWriting } from '../../packages/service/src/store/sqlite/connection.ts'
import { addIssuer, createClient } from '../process/client.ts'
import { readOutside } from '../process/outside-log.ts'
import { cleanUp, createHome, startFurnished, startService } from '../process/service-process.ts'

const TEST_MS_MAX = 300_000

afterEach(cleanUp)

async function begin() {
  const home = await createHome()
  const node = await startFurnished(home)
  const { dev } = node
  const client = createClient(node.url, dev)
  return { home, dev, node, client, issuer: await addIssuer(client, dev) }
}

describe('after a restart', () => {
  test('what was revoked stays revoked, and a holder proof that was used stays used', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, dev, node, client, issuer } = await begin()
    const [user, one, living] = [await issuer.issue(), await issuer.issue(), await issuer.issue()]
    const [kept, dead] = [
      (await client.exchange(living.document)).body.access_token,
      (await client.exchange(living.document)).body.access_token,
    ]
    const first = await client.revokeUser(user.ppid)
    expect([
      first.status,
      (await client.revokeCredential(one.id)).status,
      (await client.revokeToken(dead)).status,
    ]).toEqual([200, 200, 200])
    const header = credentialHeader(dev.bound.credential)
    const proof = await signRequest(
      {
        method: 'POST',
        authority: new URL(home.baseUrl).host,
        scheme: 'http',
        path: '/api/protected/action',
        query: '',
        header: (name) => (name === 'x-service-credential' ? [header] : undefined),
        body: 'none',
      },
      { key: await importPrivateKey(dev.bound.holder_private_jwk), nowMs: Date.now() },
    )
    const prove = () =>
      client.ask('POST', '/api/protected/action', { headers: { 'X-Service-Credential': header, ...proof } })
    expect((await prove()).status).toBe(200)
    expect(await node.stop()).toBe(0)

    await startService(home)
    const answers = await Promise.all([
      client.show(user.header),
      client.show(one.header),
      client.show(living.header),
    ])
    expect(answers.map(({ status, body }) => body.code ?? status)).toEqual([
      'credential_revoked',
      'credential_revoked',
      200,
    ])
    expect([(await client.bearer(kept)).status, (await client.bearer(dead)).status]).toEqual([200, 401])
    expect((await prove()).body.code).toBe('proof_replayed')
    const [entry] = first.body.entries
    expect((await client.revokeUser(user.ppid)).body).toEqual({
      ...first.body,
      already_revoked: true,
      entries: [{ ...entry, already_revoked: true }],
    })
    expect((await readOutside(home)).faults).toEqual([])
  })
})

describe('the files of the embedded store', () => {
  test('are for their owner only, and belong to one process at a time (A229)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, node, client, issuer } = await begin()
    const files = readdirSync(home.dataDir)
    expect(files).toEqual(
      expect.arrayContaining(['countersign.db', 'countersign.db-wal', 'countersign.db.lock']),
    )
    for (const file of files)
      expect([file, statSync(join(home.dataDir, file)).mode & 0o777]).toEqual([file, 0o600])
    expect(statSync(home.dataDir).mode & 0o777).toBe(0o700)

    const { port } = await createHome()
    await expect(startService(home, { port })).rejects.toThrow(
      `belongs to another process (process ${node.pid})`,
    )
    const made = await issuer.issue()
    expect((await client.revokeUser(made.ppid)).status).toBe(200)
    expect((await client.show(made.header)).body.code).toBe('credential_revoked')
  })
})

describe('a log that was edited while the service was stopped (A182)', () => {
  const edits = [
    [
      'another user in the body of an entry',
      `UPDATE entries SET body = replace(body, 'ppid_a', 'ppid_b') WHERE kind = 'user.revoked'`,
    ],
    ['the last entry deleted', 'DELETE FROM entries WHERE position = (SELECT MAX(position) FROM entries)'],
    [
      'the last entry deleted, and the end of the log set back',
      'DELETE FROM entries WHERE position = (SELECT MAX(position) FROM entries); UPDATE log SET position = position - 1',
    ],
    ['an entry deleted in the middle', `DELETE FROM entries WHERE position = 2`],
  ] as const

  test('leaves a service that is not ready, accepts no caller and acknowledges nothing', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { home, node, client, issuer } = await begin()
    const [revoked, living] = [await issuer.issue(), await issuer.issue()]
    const token = (await client.exchange(living.document)).body.access_token
    expect((await client.revokeUser(revoked.ppid)).status).toBe(200)
    expect(await node.stop()).toBe(0)
    const db = openForWriting(home.file)
    const copies = edits.map(([name]) => join(home.dataDir, `${name.replace(/\W+/g, '-')}.db`))
    try {
      for (const copy of copies) db.prepare('VACUUM INTO ?').run(copy)
    } finally {
      db.close()
    }

    for (const [i, [name, edit]] of edits.entries()) {
      const file = copies[i] as string
      chmodSync(file, 0o600)
      const edited = openForWriting(file)
      edited.exec(edit)
      edited.close()
      const damaged = await startService(home, { databaseUrl: `sqlite:${file}`, readyOrNot: true })
      const answers = await Promise.all([
        client.show(revoked.header),
        client.show(living.header),
        client.bearer(token),
        client.revokeUser(living.ppid),
        client.ask('GET', '/readyz'),
      ])
      expect([name, ...answers.map(({ status }) => status)]).toEqual([name, 503, 503, 503, 503, 503])
      expect(damaged.output()).toContain('the log is damaged')
      await damaged.stop()
    }

    await startService(home)
    expect((await client.show(revoked.header)).body.code).toBe('credential_revoked')
    expect((await client.show(living.header)).status).toBe(200)
  })
})
