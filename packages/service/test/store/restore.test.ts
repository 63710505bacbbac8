import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, deflateRawSync } from 'node:zlib'
import { formatTime, type SiteId } from '@countersign/core'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { openStore } from '../../src/store/open.ts'
import type { PersonChanges, PersonRole } from '../../src/store/operations/people.ts'
import type { Store } from '../../src/store/store.ts'
import { run } from '../operations/terminal.ts'
import {
  context,
  credentialId,
  MASTER_KEY,
  NOW,
  newIssuer,
  newKey,
  newSite,
  newToken,
  ppid,
  quietLog,
  seen,
} from './fixtures.ts'
import { viewOf } from './log-reading.ts'

const parent = mkdtempSync(join(tmpdir(), 'countersign-restore-'))
afterAll(() => rmSync(parent, { recursive: true, force: true }))
let folder: string
let made = 0
beforeEach(() => {
  folder = join(parent, String(++made))
})
let opened: Store | undefined
afterEach(() => opened?.close())

const open = async () => {
  const place = { kind: 'sqlite', file: join(folder, 'countersign.db') } as const
  opened = await openStore(place, { masterKey: MASTER_KEY, log: quietLog, onFatal: () => {} })
  return opened
}
const here = (...argv: string[]) => run([...argv, '--data-dir', folder])

/** A store with a backup, after which something of each kind was taken away. */
async function takenAwaySinceBackup(prepare: (store: Store) => Promise<unknown> = async () => {}) {
  const site = newSite()
  const { siteId } = site
  const store = await open()
  await store.createSite(site, context())
  const issuer = await newIssuer(siteId, {
    keys: [await newKey('key-1'), await newKey('key-2'), await newKey('key-3')],
  })
  const distrusted = await newIssuer(siteId)
  await store.addIssuer(issuer, context())
  await store.addIssuer(distrusted, context())
  const credential = seen(siteId, { createdMs: NOW - 60_000 })
  const token = newToken(credential)
  await store.createToken(token, 20, NOW, credential)
  const [before, revoked, reinstated, id] = [ppid(), ppid(), ppid(), credentialId()]
  const user = (name: typeof before) => ({ siteId, ppid: name, reason: undefined })
  const key = {
    siteId: null,
    sha256: 'a'.repeat(64),
    last4: 'aaaa',
    permissions: [],
    label: undefined,
    expiresAtMs: undefined,
  }
  await store.createApiKey({ ...key, keyId: 'key_deleted' }, context())
  await store.createApiKey({ ...key, keyId: 'key_kept', sha256: 'b'.repeat(64) }, context())
  await store.revokeUser(user(before), context())
  await addPeople(store, siteId)
  await prepare(store)
  const backup = join(folder, 'backup.db')
  expect(await here('backup', backup)).toMatchObject({ code: 0 })

  await store.revokeUser(user(revoked), context(NOW + 1000))
  await store.revokeUser(user(reinstated), context(NOW + 1000))
  await store.reinstateUser(user(reinstated), context(NOW + 2000))
  await store.revokeCredential({ siteId, credentialId: id, reason: undefined }, context(NOW + 1000))
  await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, context(NOW + 1000))
  await store.changeIssuerKey(siteId, issuer.issuer, 'key-1', 'compromised', context(NOW + 1000))
  await store.changeIssuerKey(siteId, issuer.issuer, 'key-2', 'retired', context(NOW + 1000))
  await store.changeIssuer(siteId, distrusted.issuer, { status: 'distrusted' }, context(NOW + 1000))
  const cut = { siteId, target: siteId, reason: undefined }
  const at = formatTime(NOW + 1000)
  const signedOut = ppid()
  await store.signOutUsers(
    { siteId, ppids: [signedOut], beforeMs: NOW + 1000, reason: undefined },
    context(NOW + 1000),
  )
  await store.cutOff({ ...cut, kind: 'site.cut_off', body: { before: at } }, context(NOW + 1000))
  await store.cutOff(
    { ...cut, kind: 'issuer.cut_off', target: issuer.issuer, body: { issuer: issuer.issuer, before: at } },
    context(NOW + 1000),
  )
  await store.cutOff(
    { ...cut, kind: 'holder.revoked', target: STOLEN, body: { thumbprint: STOLEN, revoked_at: at } },
    context(NOW + 1000),
  )
  await store.deleteApiKey(null, 'key_deleted', context())
  const change = (personId: string, changes: PersonChanges) =>
    store.changePerson(personId, changes, 99, undefined, context())
  await change('person_ended', { status: 'ended' })
  await change('person_demoted', { roles: [{ siteId, role: 'viewer' }] })
  await change('person_less', { roles: [{ siteId, role: 'admin' }] })
  await change('person_more', { roles: [{ siteId: null, role: 'operator' }] })
  await store.endConsoleSession('person_kept', 'session_ended', context())
  await store.removePasskey('person_kept', 'passkey_removed', '', context())
  await store.close()
  return { siteId, backup, before, revoked, reinstated, signedOut, id, token, issuer, distrusted }
}

/** People who have a role at the site, one of them with two sessions and two passkeys. */
async function addPeople(store: Store, siteId: SiteId): Promise<void> {
  const add = (personId: string, ...roles: readonly PersonRole[]) =>
    store.createPerson({ personId, name: 'Ada', roles }, 99, undefined, context())
  await add('person_ended', { siteId, role: 'admin' })
  await add('person_demoted', { siteId, role: 'admin' })
  await add('person_less', { siteId: null, role: 'operator' }, { siteId, role: 'responder' })
  await add('person_more', { siteId, role: 'viewer' })
  await add('person_kept', { siteId, role: 'admin' })
  for (const [i, sessionId] of ['session_ended', 'session_kept'].entries()) {
    const link = `${i}`.repeat(64)
    const expiresAtMs = NOW + 9 * 3_600_000
    await store.createConsoleLink({ sha256: link, personId: 'person_kept', expiresAtMs }, context())
    const session = { sha256: `${i + 2}`.repeat(64), sessionId, expiresAtMs, elevatedUntilMs: NOW }
    expect(await store.openConsoleSession(link, session, undefined, 9, context())).toBeDefined()
  }
  for (const name of ['removed', 'kept']) {
    const passkey = {
      passkeyId: `passkey_${name}`,
      credentialId: name,
      personId: 'person_kept',
      rpId: 'id.example',
      name,
      publicKey: 'x',
      counter: 0,
    }
    await store.addPasskey(passkey, { sha256: name, expiresAtMs: NOW + 1000 }, 9, context())
  }
}

const STOLEN = 'a'.repeat(43)
const LOST = {
  users: 2,
  credentials: 1,
  tokens: 1,
  issuers: 1,
  issuer_keys: 2,
  cut_offs: 4,
  api_keys: 1,
  people: 3,
  passkeys: 1,
  console_sessions: 1,
  sites: 0,
}

describe('restore (B9)', () => {
  it('says what the replaced store has that the backup lacks, and leaves it out unless told otherwise', {
    tags: 'long',
  }, async () => {
    const { siteId, backup, before, revoked } = await takenAwaySinceBackup()
    const rehearsed = await here('restore', backup, '--dry-run', '--json')
    expect(JSON.parse(rehearsed.said)).toMatchObject({ dry_run: true, kept: false, lost: LOST })
    const { code, said, noted } = await here('restore', backup)
    expect(code).toBe(0)
    expect(said).toMatch(/^Restored in the new epoch \w+: 4 entries of 1 site\.$/)
    expect(noted).toContain(
      'The backup lacks what the replaced store had revoked: 2 revocations of users, 1 revocation of a credential, 1 revocation of a token, ' +
        '1 distrusted issuer, 2 compromised or retired keys of issuers, 4 cut-offs, 1 deleted API key, ' +
        '3 people with less access, 1 removed passkey, 1 ended session. Revoke again whatever was revoked after the backup.',
    )
    const store = await open()
    const view = await viewOf(store, siteId)
    expect(view.userRevocation(before, NOW - 1000)).toBeDefined()
    expect(view.userRevocation(revoked, NOW - 1000)).toBeUndefined()
    // Control: people have the access of the backup again.
    expect((await store.people({ after: undefined, limit: 9 })).map(({ status }) => status)).toEqual(
      Array(5).fill('active'),
    )
    expect(await store.consoleSessions('person_kept', { after: undefined, limit: 9 })).toHaveLength(2)
  })

  it('keeps revocations in spite of rows in the backup that call them made already (A273)', {
    tags: 'long',
  }, async () => {
    const { siteId, backup, revoked, id } = await takenAwaySinceBackup()
    const db = new Database(backup)
    db.prepare(
      `INSERT INTO users (site_id, ppid, revoked, first_at, revoked_at, credential_ids, tokens_revoked, revoked_seq, revoked_position)
       VALUES (?, ?, 1, 1, 1, '[]', 0, 1, 1)`,
    ).run(siteId, revoked)
    db.prepare(
      `INSERT INTO credential_revocations (site_id, credential_id, type, at, tokens_revoked, seq, position) VALUES (?, ?, 'credential', 1, 0, 1, 1)`,
    ).run(siteId, id)
    db.close()
    expect(await here('restore', backup, '--keep-revocations')).toMatchObject({ code: 0 })
    const view = await viewOf(await open(), siteId)
    expect(view.userRevocation(revoked, NOW + 60_000)).toBeDefined()
    expect(view.credentialRevocation(id)).toBeDefined()
  })

  it.each(['none', 'a page', 'an entry before the checkpoint'])(
    'keeps revocations in spite of a log in the backup that calls them made already: planted is %s (A271)',
    { tags: 'long' },
    async (planted) => {
      const { siteId, backup, revoked } = await takenAwaySinceBackup((store) =>
        writeCheckpointAtEnd(store, NOW),
      )
      const at = formatTime(NOW)
      const db = new Database(backup)
      if (planted === 'a page') {
        const line = { type: 'users', since: at, ids: [revoked], ms: [0] }
        const deflated = deflateRawSync(`${JSON.stringify(line)}\n`, { finishFlush: constants.Z_SYNC_FLUSH })
        db.prepare(
          `INSERT INTO log_pages (site_id, from_seq, to_seq, lines, revocations, bytes, crc32, sha256, newest_at, deflated)
           VALUES (?, 1, 2, 1, 1, 1, 1, '', 1, ?)`,
        ).run(siteId, deflated)
      } else if (planted !== 'none')
        db.prepare(`UPDATE entries SET kind = 'user.revoked', body = ? WHERE position = 2`).run(
          JSON.stringify({ ppid: revoked, revoked_at: at }),
        )
      db.close()
      expect(await here('restore', backup, '--keep-revocations')).toMatchObject({ code: 0 })
      const view = await viewOf(await open(), siteId)
      expect(view.userRevocation(revoked, NOW + 60_000)).toBeDefined()
    },
  )

  it('keeps what can be read of a damaged page of the replaced store', { tags: 'long' }, async () => {
    const { siteId, backup, revoked } = await takenAwaySinceBackup()
    const store = await open()
    await writeCheckpointAtEnd(store, NOW + 5000)
    await store.close()
    const db = new Database(join(folder, 'countersign.db'))
    // The end of the page is missing, and its entries are gone.
    db.exec('UPDATE log_pages SET deflated = substr(deflated, 1, length(deflated) - 5)')
    db.exec('DELETE FROM entries')
    db.close()
    expect(await here('restore', backup, '--keep-revocations')).toMatchObject({ code: 0 })
    const view = await viewOf(await open(), siteId)
    expect(view.userRevocation(revoked, NOW + 60_000)).toBeDefined()
  })

  it('takes away in the new epoch what the replaced store had taken away (--keep-revocations)', {
    tags: 'long',
  }, async () => {
    const { siteId, backup, revoked, reinstated, signedOut, id, token, issuer, distrusted } =
      await takenAwaySinceBackup()
    const ran = await here('restore', backup, '--keep-revocations', '--json')
    expect(JSON.parse(ran.said)).toMatchObject({
      kept: true,
      dry_run: false,
      lost: LOST,
      epoch: expect.any(String),
    })
    expect(ran.noted).toContain('Kept from the replaced store: 2 revocations of users')
    expect(await here('audit-log')).toMatchObject({ code: 0 })
    const store = await open()
    const view = await viewOf(store, siteId)
    expect(view.userRevocation(revoked, NOW + 60_000)).toBeDefined()
    expect(view.userRevocation(signedOut, NOW + 1000)).toBeDefined()
    expect(view.userRevocation(signedOut, NOW + 2000)).toBeUndefined()
    expect(view.holderRevocation(STOLEN)).toBeDefined()
    expect([NOW + 1000, NOW + 2000].map((ms) => view.cutOff(issuer.issuer, ms)?.by)).toEqual([
      'site',
      undefined,
    ])
    expect([...view.cutOffs.keys()].sort()).toEqual(['', issuer.issuer])
    // Newer credentials of a reinstated user are valid, as they were.
    expect(view.userRevocation(reinstated, NOW + 1000)).toBeDefined()
    expect(view.userRevocation(reinstated, NOW + 60_000)).toBeUndefined()
    expect(view.credentialRevocation(id)).toBeDefined()
    expect((await store.token(token.sha256))?.revokedAtMs).toBeDefined()
    const keys = (await store.issuer(siteId, issuer.issuer))?.keys.map(({ status }) => status)
    expect(keys).toEqual(['compromised', 'retired', 'active'])
    expect(view.issuer(distrusted.issuer)).toBeUndefined()
    expect((await store.apiKeys(null, { after: undefined, limit: 9 })).map(({ keyId }) => keyId)).toEqual([
      'key_kept',
    ])
    const people = await store.people({ after: undefined, limit: 9 })
    expect(people.map(({ personId, status, roles }) => [personId, status, roles])).toEqual([
      // Nothing is given that the backup did not give.
      ['person_demoted', 'active', []],
      ['person_ended', 'ended', [{ siteId, role: 'admin' }]],
      ['person_kept', 'active', [{ siteId, role: 'admin' }]],
      ['person_less', 'active', [{ siteId, role: 'responder' }]],
      ['person_more', 'active', [{ siteId, role: 'viewer' }]],
    ])
    const page = { after: undefined, limit: 9 }
    const sessions = await store.consoleSessions('person_kept', page)
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(['session_kept'])
    expect((await store.passkeys('person_kept', page)).map(({ passkeyId }) => passkeyId)).toEqual([
      'passkey_kept',
    ])
    const rows = await store.auditRows(null, { after: undefined, limit: 9 })
    expect(rows.find(({ action }) => action === 'log.keep_revocations')).toMatchObject({ detail: LOST })
    await store.close()
    // Everything is there now.
    const again = await here('restore', backup, '--dry-run', '--keep-revocations', '--json')
    expect(JSON.parse(again.said)).toMatchObject({ lost: LOST })
    expect(await here('backup', join(folder, 'after.db'))).toMatchObject({ code: 0 })
    expect((await here('restore', join(folder, 'after.db'), '--dry-run')).noted).toContain(
      'The backup lacks nothing',
    )
  })

  it('changes nothing with --dry-run', async () => {
    const { backup } = await takenAwaySinceBackup()
    const files = () => readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name))
    const before = files()
    const { code, said, noted } = await here('restore', backup, '--dry-run')
    expect([code, said]).toEqual([0, 'The backup is intact: 4 entries of 1 site.'])
    expect(noted).toMatch(/Nothing was changed\.$/)
    expect(files()).toEqual(before)
    expect(await here('audit-log')).toMatchObject({ code: 0, said: expect.stringContaining('16 entries') })
  })

  it('keeps the revocations of a store whose log is damaged, and refuses to when the file cannot be read at all', {
    tags: 'long',
  }, async () => {
    const { siteId, backup, revoked } = await takenAwaySinceBackup()
    const file = join(folder, 'countersign.db')
    const db = new Database(file)
    db.exec(`UPDATE entries SET body = '{' WHERE position = 2`)
    db.close()
    const ran = await here('restore', backup, '--keep-revocations')
    expect(ran.code).toBe(0)
    const store = await open()
    expect((await viewOf(store, siteId)).userRevocation(revoked, NOW)).toBeDefined()
    await store.close()
    writeFileSync(file, 'not a database'.repeat(1000))
    for (const each of ['-wal', '-shm']) rmSync(file + each, { force: true })
    expect(await here('restore', backup, '--keep-revocations')).toMatchObject({
      code: 1,
      noted: expect.stringContaining('cannot be kept'),
    })
    expect(await here('restore', backup)).toMatchObject({
      code: 0,
      noted: expect.stringContaining('Revoke again'),
    })
  })
})
