import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CredentialId, Ppid } from '@countersign/core'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import type { CommittedPart } from '../../src/store/committed-part.ts'
import { openStore } from '../../src/store/open.ts'
import { openWriter, type Writer } from '../../src/store/sqlite/writer-client.ts'
import { context, credentialId, MASTER_KEY, NOW, newSite, ppid, quietLog, seen } from './fixtures.ts'

/** The writer of a new file. */
async function openNewWriter(
  onAppended: (part: CommittedPart | undefined) => void,
  onForged: () => void = () => undefined,
): Promise<{ writer: Writer; file: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-groups-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'store', 'store.db')
  const options = { masterKey: MASTER_KEY, log: quietLog, onFatal: () => undefined }
  await (await openStore({ kind: 'sqlite', file }, options)).close()
  const heard = { onAppended, onForged, onFatal: () => undefined }
  const writer = await openWriter({ file, masterKey: MASTER_KEY, mustExist: true, ...heard })
  return { writer, file }
}

it('no commit has two revocations of several targets', { tags: 'long' }, async () => {
  let commits = 0
  const { writer } = await openNewWriter(() => commits++)
  const site = newSite()
  const { siteId } = site
  await writer.run('createSite', [site, context()])
  commits = 0
  const several = () => {
    const ppids = Array.from({ length: 20 }, ppid)
    return writer.run('revokeAll', [
      { siteId, ppids, credentialIds: [], jtis: [], reason: undefined },
      context(),
    ])
  }
  const one = () => writer.run('revokeUser', [{ siteId, ppid: ppid(), reason: undefined }, context()])
  await Promise.all(Array.from({ length: 12 }, () => [several(), one(), one()]).flat())
  expect(commits).toBeGreaterThanOrEqual(12)
  await writer.close()
})

it.each([
  [1, 0],
  [3, 0],
  [3, 1],
  [3, 2],
])(
  'of %i operations together, one that fails after %i others leaves nothing behind',
  async (count, before) => {
    const parts: (CommittedPart | undefined)[] = []
    const { writer, file } = await openNewWriter((part) => parts.push(part))
    const site = newSite()
    const { siteId } = site
    await writer.run('createSite', [site, context()])
    const revoke = () => writer.run('revokeUser', [{ siteId, ppid: ppid(), reason: undefined }, context()])
    const [first, second] = [credentialId(), credentialId()].toSorted() as [CredentialId, CredentialId]
    const good = seen(siteId, { credentialId: first })
    const bad = seen(siteId, { credentialId: second, ppid: null as unknown as Ppid })
    const earlier = Array.from({ length: before }, revoke)
    // The first row has been written when the second is rejected.
    const failing = expect(writer.run('recordCredentials', [[good, bad], NOW])).rejects.toThrow('NOT NULL')
    const later = Array.from({ length: count - 1 - before }, revoke)
    await Promise.all([...earlier, failing, ...later])
    await revoke()
    await writer.close()
    const db = new Database(file, { readonly: true })
    const rowsIn = (table: string) => db.prepare(`SELECT COUNT(*) AS n FROM ${table}`).pluck().get()
    expect([rowsIn('credentials'), rowsIn('users')]).toEqual([0, count])
    const hashes = db.prepare('SELECT hash FROM entries ORDER BY position').pluck().all()
    const seqs = db.prepare('SELECT seq FROM entries ORDER BY position').pluck().all()
    // The first entry created the site. What came before the failure was not written twice.
    expect(seqs).toEqual(Array.from({ length: count + 1 }, (_, i) => i + 1))
    // And listeners have got what was committed, without what failed.
    const handedOver = parts.flatMap((part) => part?.entries ?? [])
    expect(handedOver.map(({ position }) => position)).toEqual(seqs)
    expect(handedOver.map(({ entry }) => entry.hash)).toEqual(hashes)
    db.close()
  },
)

it('operations that find a forged row report it once each, though they are tried twice', async () => {
  let reports = 0
  const { writer, file } = await openNewWriter(
    () => undefined,
    () => reports++,
  )
  const site = newSite()
  const { siteId } = site
  await writer.run('createSite', [site, context()])
  const db = new Database(file)
  db.prepare('UPDATE heads SET mac = ? WHERE site_id = ?').run('forged', siteId)
  db.close()
  const revoke = () => writer.run('revokeUser', [{ siteId, ppid: ppid(), reason: undefined }, context()])
  const outcomes = await Promise.allSettled([revoke(), revoke(), revoke()])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(reports).toBe(3)
  await writer.close()
})

it('answers an operation after all that its listeners do without waiting, and before it closes', async () => {
  const events: string[] = []
  const { writer } = await openNewWriter(async () => {
    for (let step = 0; step < 50; step++) await undefined
    events.push('heard')
  })
  const site = newSite()
  const creating = writer.run('createSite', [site, context()]).then(() => events.push('answered'))
  await writer.close()
  await creating
  expect(events).toEqual(['heard', 'answered'])
})
