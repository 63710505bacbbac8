import { dirname, join } from 'node:path'
import { formatTime, type Ppid } from '@countersign/core'
import { afterAll, describe, expect, it } from 'vitest'
import type { Config } from '../../src/config.ts'
import { cutLog } from '../../src/log/cut-log.ts'
import { readToEnd, writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { restoreLog } from '../../src/store/checkpoints/restore-log.ts'
import { auditStore, backupStore, restoreStore } from '../../src/store/maintenance.ts'
import type { NewToken } from '../../src/store/operations/tokens.ts'
import type { Store } from '../../src/store/store.ts'
import { type Claim, countVerdicts, createPicks, judgeAll } from '../log/verdicts.ts'
import { beginYears, changeAt, createClaims, type SiteYears } from '../log/years.ts'
import { run } from '../operations/terminal.ts'
import { context, credentialId, DAY, MASTER_KEY, newToken, ppid, seen } from './fixtures.ts'
import { runStatements } from './postgres-server.ts'
import {
  audit,
  forEachStoreWriter,
  newFile,
  removeFiles,
  type StoreWriter,
  withStore,
} from './store-writer.ts'

const END = Date.now()
const START = END - 4 * 365 * DAY
const TIMES = [END, END + 10 * DAY, END + 200 * DAY, END + 400 * DAY]

async function fillYears(store: Store): Promise<SiteYears> {
  const years = await beginYears(store, START)
  const pick = createPicks(21)
  for (let i = 0; i < 260; i++) {
    await changeAt(store, years, pick, Math.floor(START + ((END - START) * i) / 260))
    if (i % 60 === 59) await writeCheckpointAtEnd(store, END)
  }
  return years
}

async function cut(store: Store): Promise<void> {
  await writeCheckpointAtEnd(store, END)
  const removed = await cutLog({ store, beforeMs: END - 396 * DAY, context: context(END) })
  for (const each of ['entries', 'revocations', 'rows'] as const)
    expect(removed[each], each).toBeGreaterThan(10)
}

async function judge(store: Store, claims: readonly Claim[]): Promise<readonly string[]> {
  const { log } = await restoreLog(store)
  await readToEnd(store, log)
  return judgeAll((siteId) => log.views.get(siteId), claims, TIMES)
}

const toClaims = (years: SiteYears, seed: number) =>
  createClaims([years], createPicks(seed), { count: 1500, fromMs: START, nowMs: END })

/** A copy of the store, as an operator restores it into an empty place. */
async function restoreElsewhere({ place }: StoreWriter): Promise<Config['store']> {
  if (place.kind === 'sqlite') {
    const [backup, file] = [join(dirname(place.file), 'backup.db'), newFile()]
    await backupStore(place, backup, MASTER_KEY)
    await restoreStore({ kind: 'sqlite', file }, backup, { masterKey: MASTER_KEY, nowMs: END })
    return { kind: 'sqlite', file }
  }
  // As a dump is restored: the store finds its log in another database and begins a new epoch.
  const name = new URL(place.url).pathname.slice(1)
  const adminUrl = Object.assign(new URL(place.url), { pathname: '/postgres' }).href
  await runStatements(adminUrl, [`CREATE DATABASE ${name}_copy TEMPLATE ${name}`])
  return { kind: 'postgres', url: Object.assign(new URL(place.url), { pathname: `/${name}_copy` }).href }
}

forEachStoreWriter('a copy of a store that was cut', (newWriter) => {
  it('begins a new epoch with the same verdicts, and the audit proves its base and the rest', {
    tags: 'long',
  }, async () => {
    const writer = await newWriter()
    const { claims, before, epoch } = await withStore(writer, async (store) => {
      const years = await fillYears(store)
      await cut(store)
      const made = toClaims(years, 22)
      return { claims: made, before: await judge(store, made), epoch: store.epoch }
    })
    const copy: StoreWriter = { place: await restoreElsewhere(writer), sql: writer.sql }
    const added = await withStore(copy, async (store) => {
      expect(store.epoch).not.toBe(epoch)
      expect(await judge(store, claims)).toEqual(before)
      const [claim] = claims
      const user = { siteId: claim?.siteId as never, ppid: claim?.grounds.ppid as Ppid, reason: undefined }
      await store.signOutUsers({ ...user, ppids: [user.ppid], beforeMs: END }, context(END))
      return (await store.logPosition()) - 1
    })
    expect(await auditStore(copy.place, MASTER_KEY)).toMatchObject({
      ok: true,
      basePosition: added,
      position: added + 1,
    })
    expect(await audit(copy)).toMatchObject({
      code: 0,
      said: expect.stringContaining('before the base of the log'),
    })
    // The store that was copied is as it was.
    expect(await withStore(writer, (store) => judge(store, claims))).toEqual(before)
    expect(await auditStore(writer.place, MASTER_KEY)).toMatchObject({ ok: true })
  })
})

/** Something of each kind, revoked at the end of the years. */
async function revokeMore(store: Store, years: SiteYears, token: NewToken): Promise<void> {
  const { siteId, issuer } = years
  const now = context(END)
  const [first, second, third] = years.users.slice(-3) as [Ppid, Ppid, Ppid]
  await store.revokeUser({ siteId, ppid: first, reason: undefined }, now)
  await store.revokeUser({ siteId, ppid: second, reason: undefined }, context(END - 1000))
  await store.reinstateUser({ siteId, ppid: second, reason: undefined }, now)
  await store.signOutUsers({ siteId, ppids: [third], beforeMs: END, reason: undefined }, now)
  for (const id of [first, second, third]) years.userEvents.push({ id, atMs: END })
  const id = credentialId()
  await store.revokeCredential({ siteId, credentialId: id, reason: undefined }, now)
  years.credentials.push({ id, atMs: END })
  await store.revokeToken({ siteId, sha256: token.sha256, reason: undefined }, now)
  years.tokens.push({ id: token.sha256, atMs: END })
  const body = { issuer, before: formatTime(END - 150 * DAY) }
  await store.cutOff({ siteId, kind: 'issuer.cut_off', target: issuer, body, reason: undefined }, now)
}

describe('restore over a store that was cut', () => {
  afterAll(removeFiles)

  it.each([
    ['before', 'without'],
    ['before', 'with'],
    ['after', 'without'],
    ['after', 'with'],
  ] as const)('of a backup from %s the cut, %s --keep-revocations', { tags: 'long' }, async (when, keep) => {
    const folder = dirname(newFile())
    const place = { kind: 'sqlite', file: join(folder, 'countersign.db') } as const
    const writer: StoreWriter = { place, sql: async () => [] }
    const here = (...argv: string[]) => run([...argv, '--data-dir', folder])
    const backup = join(folder, 'backup.db')
    const { claims, old, all, replaced } = await withStore(writer, async (store) => {
      const filled = await fillYears(store)
      // Of three users nothing is known when the backup is made.
      const years = { ...filled, users: [...filled.users, ppid(), ppid(), ppid()] }
      const { siteId } = years
      const token = newToken(seen(siteId), { issuedAtMs: END - 1000, expiresAtMs: END + 900_000 })
      await store.createToken(token, 20, END, seen(siteId))
      const atBackup = toClaims(years, 23)
      const verdicts = await judge(store, atBackup)
      if (when === 'after') await cut(store)
      await backupStore(place, backup, MASTER_KEY)
      if (when === 'before') await cut(store)
      expect(await judge(store, atBackup)).toEqual(verdicts)
      await revokeMore(store, years, token)
      const both = [...atBackup, ...toClaims(years, 24)]
      return { claims: atBackup, old: verdicts, all: both, replaced: await judge(store, both) }
    })
    expect(countVerdicts(replaced).get('allowed')).toBeGreaterThan(100)
    // Control: what was revoked after the backup changes verdicts about the same claims.
    expect(replaced.slice(0, old.length)).not.toEqual(old)

    const ran = await here('restore', backup, '--json', ...(keep === 'with' ? ['--keep-revocations'] : []))
    expect(ran).toMatchObject({ code: 0 })
    expect(JSON.parse(ran.said)).toMatchObject({
      kept: keep === 'with',
      lost: { users: 2, credentials: 1, tokens: 1, issuers: 0, issuer_keys: 0, cut_offs: 2, sites: 0 },
    })
    await withStore(writer, async (store) => {
      if (keep === 'with') expect(await judge(store, all)).toEqual(replaced)
      else expect(await judge(store, claims)).toEqual(old)
    })
    expect(await auditStore(place, MASTER_KEY)).toMatchObject({ ok: true })
    const audited = await here('audit-log')
    expect(audited).toMatchObject({ code: 0, said: expect.stringContaining('before the base of the log') })
  })
})
