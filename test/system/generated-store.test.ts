import type { CredentialId, Ppid, SiteView } from '@countersign/core'
import { expect, it } from 'vitest'
import { type Change, toBlock, toPpid } from '../../bench/growth/changes.ts'
import { generateStore, toSites } from '../../bench/growth/generate.ts'
import { SITE } from '../../bench/sample.ts'
import { MASTER_KEY } from '../../packages/service/test/store/fixtures.ts'
import { audit, forEachStoreWriter, withNode } from '../../packages/service/test/store/store-writer.ts'

const NOW = Date.UTC(2026, 10, 1)

/** Whether what was issued at this time has been revoked. */
function isRevoked(view: SiteView, { kind, target }: Change, issuedMs: number): boolean {
  switch (kind) {
    case 'credential.revoked':
      return view.credentialRevocation(target as CredentialId) !== undefined
    case 'token.revoked':
      return view.tokenRevocation(target) !== undefined
    case 'holder.revoked':
      return view.holderRevocation(target) !== undefined
    default:
      return view.userRevocation(target as Ppid, issuedMs) !== undefined
  }
}

forEachStoreWriter('a generated store with 1,000 revocations', (newWriter) => {
  it('is accepted by audit-log and by a service, which has every revocation in its views', async () => {
    const writer = await newWriter()
    const sites = toSites(3)
    await generateStore({ place: writer.place, masterKey: MASTER_KEY, revocations: 1000, sites, nowMs: NOW })
    expect(await audit(writer)).toMatchObject({ code: 0, said: expect.stringContaining('1003 entries') })
    await withNode(writer, async (_store, { deps }) => {
      const view = deps.views.view(SITE)
      for (const change of toBlock(0, { count: 1000, years: 10, nowMs: NOW }))
        expect(view && isRevoked(view, change, change.atMs)).toBe(true)
      // The user at the fourth place was reinstated; the one at the eighth was revoked again.
      expect(view?.userRevocation(toPpid(3) as Ppid, NOW)).toBeUndefined()
      expect(view?.userRevocation(toPpid(7) as Ppid, NOW)).toBeDefined()
    })
    const [revoked] = await writer.sql(`SELECT COUNT(*) AS count FROM users WHERE revoked = 1`)
    const [reinstated] = await writer.sql(`SELECT COUNT(*) AS count FROM users WHERE cutoff IS NOT NULL`)
    expect([revoked?.count, reinstated?.count]).toEqual([470, 20])
    // Spread over ten years.
    const [first] = await writer.sql('SELECT at FROM entries WHERE position = 4')
    expect(String(first?.at).slice(0, 4)).toBe('2016')
  })

  it('is rejected by audit-log when one entry of it is changed', { tags: 'long' }, async () => {
    const writer = await newWriter()
    await generateStore({ place: writer.place, masterKey: MASTER_KEY, revocations: 150, nowMs: NOW })
    await writer.sql(`UPDATE entries SET at = '2020-01-01T00:00:00.000Z' WHERE position = 77`)
    expect((await audit(writer)).code).not.toBe(0)
  })

  it('has the same ids each time', { tags: 'long' }, async () => {
    const [one, other] = [await newWriter(), await newWriter()]
    for (const { place } of [one, other])
      await generateStore({ place, masterKey: MASTER_KEY, revocations: 100, nowMs: NOW, years: 1 })
    const read = async ({ sql }: typeof one) => sql('SELECT body, at FROM entries ORDER BY position')
    expect(await read(one)).toEqual(await read(other))
  })
})
