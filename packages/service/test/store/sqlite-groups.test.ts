import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { openWriter } from '../../src/store/sqlite/writer-client.ts'
import { context, MASTER_KEY, newSite, ppid, quietLog } from './fixtures.ts'

it('no commit has two revocations of several targets', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-groups-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'store', 'store.db')
  const options = { masterKey: MASTER_KEY, log: quietLog, onFatal: () => undefined }
  await (await openStore({ kind: 'sqlite', file }, options)).close()
  let commits = 0
  const writer = await openWriter({
    file,
    masterKey: MASTER_KEY,
    mustExist: true,
    onAppended: () => commits++,
    onForged: () => undefined,
    onFatal: () => undefined,
  })
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
