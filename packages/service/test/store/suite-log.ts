import { canonicalJson, createEntry, type Entry, type JsonValue } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { auditLog } from '../../src/store/audit-log.ts'
import type { CommittedPart } from '../../src/store/committed-part.ts'
import type { LoggedEntry } from '../../src/store/operations/log.ts'
import {
  context,
  credentialId,
  failingAct,
  NOW,
  newIssuer,
  newSite,
  newToken,
  ppid,
  seen,
} from './fixtures.ts'
import { entriesOf, wholeLog } from './log-reading.ts'
import type { TheStore } from './the-store.ts'

const WRITERS = 8
const TURNS = 25

export function logSuite(store: TheStore): void {
  const madeSite = async () => {
    const site = newSite()
    await store().createSite(site, context())
    return site.siteId
  }

  describe('the log', () => {
    it('seals entries as the core does', async () => {
      const siteId = await madeSite()
      const issuer = await newIssuer(siteId)
      const credential = seen(siteId)
      const token = newToken(credential)
      await store().addIssuer(issuer, context())
      await store().createToken(token, 20, NOW, credential)
      await store().revokeToken({ sha256: token.sha256, siteId, reason: undefined }, context())
      await store().changeIssuerKey(siteId, issuer.issuer, 'key-1', 'retired', context())
      await store().changeIssuerKey(siteId, issuer.issuer, 'key-1', 'compromised', context())
      await store().changeIssuer(siteId, issuer.issuer, { status: 'distrusted' }, context())
      await store().revokeCredential({ siteId, credentialId: credentialId(), reason: undefined }, context())
      await store().revokeUser({ siteId, ppid: credential.ppid, reason: 'über “x”' }, context())
      await store().reinstateUser({ siteId, ppid: credential.ppid, reason: undefined }, context())
      const entries = await entriesOf(store(), siteId)
      expect(new Set(entries.map(({ kind }) => kind)).size).toBe(9)
      let before: Pick<Entry, 'epoch' | 'seq' | 'hash'> = {
        epoch: store().epoch,
        seq: 0,
        hash: '0'.repeat(64),
      }
      for (const entry of entries) {
        const { kind, body, at } = entry
        expect(entry).toEqual(await createEntry({ siteId, kind, body, at }, before))
        before = entry
      }
    })

    it('numbers entries without holes while eight write and some of them fail', async () => {
      const sites = await Promise.all([1, 2, 3].map(madeSite))
      let failures = 0
      await Promise.all(
        Array.from({ length: WRITERS }, async (_, writer) => {
          for (let turn = 0; turn < TURNS; turn++) {
            const siteId = sites[(writer + turn) % 3] as (typeof sites)[0]
            const isToFail = (writer * 7 + turn * 3) % 4 === 0
            await store()
              .revokeUser({ siteId, ppid: ppid(), reason: undefined }, isToFail ? failingAct() : context())
              .catch(() => failures++)
          }
        }),
      )
      expect(failures).toBeGreaterThan(WRITERS)
      const log = await wholeLog(store())
      expect(log.map(({ position }) => position)).toEqual(log.map((_, i) => i + 1))
      for (const siteId of sites) {
        const seqs = log.filter(({ entry }) => entry.site_id === siteId).map(({ entry }) => entry.seq)
        expect(seqs).toEqual(seqs.map((_, i) => i + 1))
      }
      const written = log.filter(({ entry }) => sites.includes(entry.site_id)).length
      expect(written).toBe(3 + WRITERS * TURNS - failures)
      expect(await auditLog(store())).toMatchObject({ ok: true, position: log.length })
      expect(await store().logPosition()).toBe(log.length)
    })

    it('shows a reader who follows it every entry once, in order, and none that was taken back', async () => {
      const siteId = await madeSite()
      const from = await store().logPosition()
      let isOver = false
      const followed: LoggedEntry[] = []
      const following = (async () => {
        for (;;) {
          const wasOver = isOver
          const { entries: page } = await store().entriesAfter(followed.at(-1)?.position ?? from, 7)
          followed.push(...page)
          if (page.length === 0 && wasOver) return
          if (page.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        }
      })()
      await Promise.all(
        Array.from({ length: WRITERS }, async (_, writer) => {
          for (let turn = 0; turn < TURNS; turn++) {
            const fails = (writer + turn) % 3 === 0
            await store()
              .revokeUser({ siteId, ppid: ppid(), reason: undefined }, fails ? failingAct() : context())
              .catch(() => {})
          }
        }),
      )
      isOver = true
      await following
      const log = (await wholeLog(store())).filter(({ position }) => position > from)
      expect(followed).toEqual(log)
    })

    it('wakes listeners after something was appended, until they have heard enough', async () => {
      const siteId = await madeSite()
      let heard = 0
      const first = new Promise<void>((resolve) => {
        const stop = store().onAppend(() => {
          heard++
          stop()
          resolve()
        })
      })
      await store().revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
      await first
      await store().revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
      expect(heard).toBe(1)
    })

    it('hands over what it has committed, as it can be read, and nothing that was taken back', async () => {
      const siteId = await madeSite()
      const from = await store().logPosition()
      const parts: CommittedPart[] = []
      const stop = store().onAppend((_, part) => part !== undefined && parts.push(part))
      const ppids = [ppid(), ppid()]
      await store().revokeUser({ siteId, ppid: ppid(), reason: 'über “x”' }, context())
      await expect(
        store().revokeUser({ siteId, ppid: ppid(), reason: undefined }, failingAct()),
      ).rejects.toThrow()
      await store().revokeAll({ siteId, ppids, credentialIds: [], jtis: [], reason: undefined }, context())
      stop()
      const { entries, end } = await store().entriesAfter(from, 100)
      expect(parts.flatMap((part) => part.entries)).toEqual(entries)
      expect(entries).toHaveLength(3)
      expect(parts.map((part) => part.end.position)).toEqual([from + 1, from + 3])
      expect(parts.at(-1)?.end).toEqual(end)
    })

    it('hands over no more than eight entries of a transaction: those are read', async () => {
      const siteId = await madeSite()
      const from = await store().logPosition()
      const counts: (number | undefined)[] = []
      const stop = store().onAppend((_, part) => counts.push(part?.entries.length))
      const revoke = (count: number) => {
        const ppids = Array.from({ length: count }, ppid)
        return store().revokeAll({ siteId, ppids, credentialIds: [], jtis: [], reason: undefined }, context())
      }
      await revoke(9)
      await revoke(8)
      stop()
      expect(await store().logPosition()).toBe(from + 17)
      // PostgreSQL also reports each entry to all nodes, at any time and without a part.
      expect(counts.filter((count) => count !== undefined)).toEqual([8])
      if (!store().isShared) expect(counts).toEqual([undefined, 8])
    })

    it('tells where each site ends', async () => {
      const siteId = await madeSite()
      await store().revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
      const heads = await store().siteHeads({ after: undefined, limit: 1000 })
      const last = (await entriesOf(store(), siteId)).at(-1)
      expect(heads.find((head) => head.siteId === siteId)).toEqual({
        siteId,
        epoch: store().epoch,
        seq: 2,
        hash: last?.hash,
      })
    })

    it('gives pages of the size that was asked for', async () => {
      const siteId = await madeSite()
      for (let i = 0; i < 3; i++)
        await store().revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
      expect((await store().siteEntriesAfter(siteId, 1, 2)).map(({ seq }) => seq)).toEqual([2, 3])
      const [second] = await store().siteEntriesAfter(siteId, 1, 1)
      const { seq, kind, at } = second as Entry
      const [record, ...more] = await store().siteRecordsAfter(siteId, 1, 1)
      expect([record, more]).toMatchObject([
        { seq, kind, at, body: canonicalJson(second?.body as unknown as JsonValue) },
        [],
      ])
      expect(await store().siteRecordsAfter(siteId, 4, 2)).toEqual([])
      expect(await store().siteEntriesAfter(siteId, 4, 2)).toEqual([])
      expect((await store().entriesAfter(await store().logPosition(), 10)).entries).toEqual([])
      expect((await store().entriesAfter(0, 2)).entries).toHaveLength(2)
    })
  })

  it('never leaves a live token of what is revoked, however the two race', async () => {
    const siteId = await madeSite()
    let [made, refused] = [0, 0]
    for (let round = 0; round < 100; round++) {
      const root = seen(siteId)
      const leaf = seen(siteId, { ppid: root.ppid })
      const chain = [...leaf.chain, ...root.chain]
      const tokens = Array.from({ length: 3 }, () => newToken({ ...leaf, chain }))
      const target = [root.credentialId, leaf.credentialId, undefined][round % 3]
      const revoke = () =>
        target === undefined
          ? store().revokeUser({ siteId, ppid: root.ppid, reason: undefined }, context())
          : store().revokeCredential({ siteId, credentialId: target, reason: undefined }, context())
      const create = tokens.map((token) => () => store().createToken(token, 20, NOW))
      const racing = [create[0], revoke, create[1], create[2]]
      // Each round in another order, and with another head start.
      const turned = [...racing.slice(round % 4), ...racing.slice(0, round % 4)]
      await Promise.all(
        turned.map(async (go, i) => {
          if (round % 2 === 1) await new Promise((resolve) => setTimeout(resolve, ((i * 7 + round) % 5) / 2))
          const answer = await go?.()
          if (answer === 'created') made++
          if (answer === 'revoked') refused++
        }),
      )
      for (const { sha256 } of tokens) {
        const token = await store().token(sha256)
        expect(token === undefined || token.revokedAtMs !== undefined).toBe(true)
      }
    }
    // Both must have happened, or nothing was raced.
    expect(Math.min(made, refused)).toBeGreaterThan(0)
  })
}
