import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { quiet } from '../log/log-double.ts'
import { A, closeNodes, createSite, openNode } from '../node.ts'
import { issued, newParty } from '../party.ts'
import { MASTER_KEY } from '../store/fixtures.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-'))
let store: Store | undefined
afterEach(async () => {
  await closeNodes()
  await store?.close()
  rmSync(folder, { recursive: true, force: true })
})

const start = async () => {
  store = await openSqliteStore({
    file: join(folder, 'store.db'),
    log: quiet,
    masterKey: MASTER_KEY,
    onForged: () => {},
    onFatal: (fault) => {
      throw fault
    },
  })
  return store
}

it('what was revoked stays revoked after a restart, what was used up stays used up, and the rest still counts', {
  tags: 'long',
}, async () => {
  const [issuer, holder] = [await newParty(), await newParty()]
  await createSite(await start(), A, [issuer])
  const before = await openNode(store as Store)
  const [user, one, other] = [
    await issued(issuer, { siteId: A }),
    await issued(issuer, { siteId: A }),
    await issued(issuer, { siteId: A }),
  ]
  const bound = await issued(issuer, { siteId: A, holderKey: holder.did })
  const tokens: string[] = []
  for (const { document } of [user, one, other, other]) tokens.push(await before.tokenFor(document))
  const nonce = 'n'.repeat(24)
  expect((await before.context(bound.header, { holder, nonce })).status).toBe(200)
  await before.revokeUser(user.ppid)
  await before.revokeCredential(one.id)
  await before.revokeToken(tokens[3] as string)
  await closeNodes()
  await store?.close()

  const after = await openNode(await start())
  for (const { header } of [user, one]) expect((await after.context(header)).code).toBe('credential_revoked')
  expect((await after.context(other.header)).status).toBe(200)
  expect(await Promise.all(tokens.map(async (token) => (await after.bearer(token)).status))).toEqual([
    401, 401, 200, 401,
  ])
  expect((await after.context(bound.header, { holder, nonce })).code).toBe('proof_replayed')
  expect((await after.revokeUser(user.ppid)).body.already_revoked).toBe(true)
})
