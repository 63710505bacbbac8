import type { DidKey, SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { refreshIssuers } from '../../src/did-web/refresh-issuers.ts'
import { createLogger } from '../../src/logger.ts'
import { toIssuerId } from '../../src/store/issuer-id.ts'
import type { Issuer, IssuerChanges } from '../../src/store/operations/issuers.ts'
import type { Page } from '../../src/store/page.ts'
import { newParty } from '../party.ts'

/** The issuers of a store, as the refresh sees them. */
class IssuersDouble {
  readonly rows: Issuer[] = []
  readonly changed: string[] = []
  add(siteId: string, issuer: string) {
    const made = {
      siteId: siteId as SiteId,
      issuer,
      issuerId: toIssuerId(issuer),
      keys: [],
      scope: undefined,
      credentialTtlSecondsMax: undefined,
      label: undefined,
    }
    this.rows.push({ ...made, fetched: true, status: 'trusted', keysAtMs: 0, createdAtMs: 0 })
  }
  async fetchedIssuers({ after = '', limit }: Page) {
    const names = this.rows
      .map((row) => [`${row.siteId} ${row.issuer}`, row] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    return names.flatMap(([name, row]) => (name > after ? [row] : [])).slice(0, limit)
  }
  async issuer(siteId: string, issuer: string) {
    return this.rows.find((row) => row.siteId === siteId && row.issuer === issuer)
  }
  async keySources() {
    return []
  }
  async claimKeySource(source: string) {
    return { source, refreshedAtMs: undefined }
  }
  async admitKeySet() {
    return 'same'
  }
  async changeIssuer(siteId: string, issuer: string, _changes: IssuerChanges) {
    this.changed.push(`${siteId} ${issuer}`)
  }
}

async function open(fetch: (did: string, keys: readonly DidKey[]) => Promise<readonly DidKey[]>) {
  const store = new IssuersDouble()
  const keys = [{ id: 'key-1', key: (await newParty()).key.publicKey }]
  const asked: string[] = []
  const deps = {
    store,
    didWeb: {
      fetch: async (did: string) => {
        asked.push(did)
        return { keys: await fetch(did, keys), leftOut: [] }
      },
    },
    views: { lastEntryAbout: () => 0 },
    clock: { nowMs: () => 0 },
    config: { issuerKeysAgeMsMax: 86_400_000 },
    meters: { issuerRefresh: () => {} },
    log: createLogger('silent'),
  } as unknown as Parameters<typeof refreshIssuers>[0]
  return { store, deps, asked }
}

describe('the refresh of issuers', () => {
  it('of one site is not held up by the hosts of another', async () => {
    const { promise: never, resolve: release } = Promise.withResolvers<void>()
    const { store, deps } = await open(async (did, keys) => {
      if (did.includes('slow')) await never
      return keys
    })
    for (let i = 0; i < 500; i++) store.add('aaa.example', `did:web:slow${i}.example`)
    for (const site of ['bbb.example', 'ccc.example']) store.add(site, 'did:web:good.example')
    const refreshing = refreshIssuers(deps)
    await expect
      .poll(() => store.changed.toSorted())
      .toEqual(['bbb.example did:web:good.example', 'ccc.example did:web:good.example'])
    release()
    await refreshing
    expect(store.changed).toHaveLength(502)
  })
  it('asks each host once for all sites', async () => {
    const { store, deps, asked } = await open(async (_did, keys) => keys)
    for (let i = 0; i < 30; i++) store.add(`s${i}.example`, 'did:web:good.example')
    await refreshIssuers(deps)
    expect([asked.length, store.changed.length]).toEqual([1, 30])
  })
  it('gives a site so much time, and gets to all of its issuers in the end', { tags: 'long' }, async () => {
    const { store, deps, asked } = await open(async (_did, keys) => {
      await new Promise((resolve) => setTimeout(resolve, 2))
      return keys
    })
    for (let i = 0; i < 50; i++) store.add('aaa.example', `did:web:d${i}.example`)
    await refreshIssuers(deps, { siteMsMax: 10 })
    expect(asked.length).toBeLessThan(50)
    for (let i = 0; i < 1000 && new Set(asked).size < 50; i++) await refreshIssuers(deps, { siteMsMax: 10 })
    expect(new Set(asked).size).toBe(50)
  })
  it('rejects when the store cannot be asked, after all have ended', async () => {
    const { store, deps } = await open(async (_did, keys) => keys)
    store.add('aaa.example', 'did:web:good.example')
    store.issuer = () => Promise.reject(new Error('down'))
    await expect(refreshIssuers(deps)).rejects.toThrow('down')
  })
})
