import type { CredentialId, Entry } from '@countersign/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRandom } from '../../../core/test/fuzz/random.ts'
import { createGuard, type Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestSite } from '../../src/testing/test-site.ts'
import { type CutMode, createHandFeed, entryBytes, heartbeatBytes, joined } from '../hand-feed.ts'

const MODES: readonly CutMode[] = ['reset', 'end', 'hang']

let site: TestSite
let guard: Guard
let feed: ReturnType<typeof createHandFeed>
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  feed = createHandFeed(site)
  guard = createGuard({ ...site.guardOptions, fetch: feed.fetch })
  await guard.ready()
})
afterEach(async () => {
  await guard.close()
  await site.close()
})

let made = 0
async function nextEntry(): Promise<Entry> {
  const credential_id = `cred_cut${String(++made).padStart(12, '0')}` as CredentialId
  return site.log.append(
    'credential.revoked',
    { credential_id, revoked_at: '2026-11-14T12:00:00Z' },
    site.clock.nowMs,
  )
}

test('a cut at any byte of an event, in any way: it counts when its last byte has come, and then once', async () => {
  let connection = await feed.connection()
  const length = entryBytes(await nextEntry()).length
  await connection.push(entryBytes(site.log.entries.at(-1) as Entry))
  for (let cut = 0; cut <= length; cut += cut < 40 || cut > length - 20 ? 1 : 7) {
    const bytes = entryBytes(await nextEntry())
    const before = guard.state().seq
    await connection.push(bytes.subarray(0, cut))
    const after = cut < bytes.length ? before : before + 1
    expect(guard.state().seq, `${cut} bytes`).toBe(after)
    await connection.cut(MODES[cut % MODES.length] as CutMode)
    connection = await feed.connection()
    expect(connection.afterSeq, `${cut} bytes`).toBe(after)
    if (after === before) await connection.push(bytes)
    await connection.push(await heartbeatBytes(site))
    expect(guard.state()).toMatchObject({ seq: site.log.head.seq, ageMs: 0, ready: true })
  }
  expect(guard.state().revocations).toBe(site.log.entries.length - 2)
  expect(feed.snapshots).toBe(1)
})

test.each(Array.from({ length: 25 }, (_, i) => i + 1))(
  'seed %i: entries are applied once and in order, and the age is never told too low',
  async (seed) => {
    const { int: pick } = createRandom(seed)
    let waiting: Uint8Array = new Uint8Array()
    /** Where each event ends, and what the verifier may know then. */
    let ends: { at: number; seq?: number; asOfMs?: number }[] = []
    let sent = 0
    let knownSeq = guard.state().seq
    let provenMs = site.clock.nowMs - guard.state().ageMs
    let connection = await feed.connection()

    const offer = (bytes: Uint8Array, what: { seq?: number; asOfMs?: number }) => {
      waiting = joined(waiting, bytes)
      ends.push({ at: waiting.length, ...what })
    }
    const restart = async () => {
      connection = await feed.connection()
      expect(connection.afterSeq).toBe(knownSeq)
      waiting = new Uint8Array()
      ends = []
      sent = 0
      for (const entry of site.log.entries.slice(knownSeq)) offer(entryBytes(entry), { seq: entry.seq })
    }

    for (let step = 0; step < 60; step++) {
      const choice = pick(10)
      if (choice < 3) {
        const entry = await nextEntry()
        offer(entryBytes(entry), { seq: entry.seq })
      } else if (choice < 4) {
        offer(await heartbeatBytes(site), { asOfMs: site.clock.nowMs })
      } else if (choice < 8) {
        const upTo = Math.min(waiting.length, sent + 1 + pick(600))
        await connection.push(waiting.subarray(sent, upTo))
        sent = upTo
        for (const { at, seq, asOfMs } of ends) {
          if (at > sent) break
          if (seq !== undefined) knownSeq = Math.max(knownSeq, seq)
          // Sent after all that was in the log at its time, so what it proves is what has been
          // applied.
          if (asOfMs !== undefined) provenMs = Math.max(provenMs, asOfMs)
        }
      } else if (choice < 9) {
        await site.clock.advance(pick(800))
      } else {
        await connection.cut(MODES[pick(MODES.length)] as CutMode)
        await restart()
      }
      const { seq, ageMs } = guard.state()
      expect(seq).toBe(knownSeq)
      expect(ageMs).toBeGreaterThanOrEqual(site.clock.nowMs - provenMs)
    }
    await connection.cut('end')
    await restart()
    offer(await heartbeatBytes(site), { asOfMs: site.clock.nowMs })
    await connection.push(waiting)
    expect(guard.state()).toMatchObject({
      ready: true,
      ageMs: 0,
      seq: site.log.head.seq,
      revocations: site.log.entries.length - 2,
    })
    expect(feed.snapshots).toBe(1)
  },
)
