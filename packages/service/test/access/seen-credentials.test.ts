import type { AllowCredential, Credential } from '@countersign/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createSeenCredentials, type SeenCredentialsOptions } from '../../src/access/seen-credentials.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import type { SeenCredential } from '../../src/store/operations/credentials.ts'

class LearningStore {
  learned: SeenCredential[] = []
  batches = 0
  isDown = false
  gate: Promise<void> | undefined
  async recordCredentials(seen: readonly SeenCredential[]): Promise<void> {
    this.batches++
    await this.gate
    if (this.isDown) throw new StoreUnavailable('down')
    this.learned.push(...seen)
  }
}

function allow(id: string, changes: Partial<Credential> = {}, siteId = 'a.example'): AllowCredential {
  const credential = {
    id,
    issuer: 'did:key:z6MkRoot',
    ppid: 'did:service:ppid_aaaaaaaaaaaa',
    scope: ['orders:read', 'orders:write'],
    createdMs: 5,
    validFromMs: 6,
    validUntilMs: 7,
    ...changes,
  } as unknown as Credential
  const subject = { siteId, credentialId: id, ppid: credential.ppid, scope: ['orders:read'] }
  return {
    ok: true,
    presented: 'credential',
    subject,
    credential,
    holders: [],
    holder: 'unbound',
    view: { epoch: 'ep_a', seq: 9, ageMs: 0 },
  } as unknown as AllowCredential
}

const HOUR_MS = 3_600_000
function record(store: LearningStore, options: Partial<SeenCredentialsOptions> = {}) {
  return createSeenCredentials({
    store,
    nowMs: () => 100,
    log: { warn: () => {} },
    delayMs: HOUR_MS,
    ...options,
  })
}

afterEach(() => {
  vi.useRealTimers()
})

describe('credentials that are shown', () => {
  it('are written down with all that their status depends on', async () => {
    const store = new LearningStore()
    const seen = record(store)
    const root = allow('cred_root0000', { createdMs: 1 }).credential
    seen.record(
      allow('cred_child000', {
        parent: root,
        issuer: 'did:key:z6MkHolder',
        createdMs: 2,
        holderKey: 'did:key:z6MkMe',
      }),
    )
    await seen.flush()
    expect(store.learned).toEqual([
      {
        siteId: 'a.example',
        credentialId: 'cred_child000',
        ppid: 'did:service:ppid_aaaaaaaaaaaa',
        issuer: 'did:key:z6MkRoot',
        scope: ['orders:read'],
        permissionId: 'perm_default',
        chain: [
          { credentialId: 'cred_child000', createdMs: 2 },
          { credentialId: 'cred_root0000', createdMs: 1 },
        ],
        validFromMs: 6,
        validUntilMs: 7,
        holderBound: true,
        source: 'presented',
        viewSeq: 9,
      },
    ])
  })

  it('are not written without end by a holder who delegates without end', async () => {
    const store = new LearningStore()
    let nowMs = 0
    const seen = record(store, { nowMs: () => nowMs })
    const [root, other] = [allow('cred_root0000').credential, allow('cred_other000').credential]
    const show = (count: number, parent: Credential | undefined, name: string) => {
      for (let i = 0; i < count; i++)
        seen.record(allow(`cred_${name}${i}`, parent === undefined ? {} : { parent }))
    }
    const learned = async () => {
      await seen.flush()
      return store.learned.splice(0).length
    }
    show(1000, root, 'a')
    expect(await learned()).toBe(100)
    // Neither what others delegate nor what an issuer has signed is held up by it.
    show(20, other, 'b')
    show(500, undefined, 'c')
    expect(await learned()).toBe(520)
    nowMs += 600_000
    show(1000, root, 'd')
    expect(await learned()).toBe(100)
  })

  it('are written by themselves, many at a time', async () => {
    const store = new LearningStore()
    const seen = record(store, { delayMs: 1 })
    for (let i = 0; i < 20; i++) seen.record(allow(`cred_${i}`))
    await expect.poll(() => store.learned.length).toBe(20)
    expect(store.batches).toBe(1)
  })

  it('wait for the next time when they come while others are written', async () => {
    const store = new LearningStore()
    const seen = record(store)
    let open = () => {}
    store.gate = new Promise<void>((resolve) => {
      open = resolve
    })
    for (let i = 0; i < 600; i++) seen.record(allow(`cred_a${i}`))
    const first = seen.flush()
    await expect.poll(() => store.batches).toBe(1)
    for (let i = 0; i < 20; i++) seen.record(allow(`cred_b${i}`))
    open()
    await first
    expect(store.learned).toHaveLength(600)
    expect(store.batches).toBe(2)
    await seen.flush()
    expect(store.learned).toHaveLength(620)
    expect(store.batches).toBe(3)
  })

  it('come together while a write is slow, and wait after it as always', async () => {
    vi.useFakeTimers()
    const store = new LearningStore()
    const seen = record(store, { delayMs: 250 })
    const slow = Promise.withResolvers<void>()
    store.gate = slow.promise
    for (const id of ['cred_a', 'cred_b', 'cred_c']) {
      seen.record(allow(id))
      await vi.advanceTimersByTimeAsync(1000)
    }
    slow.resolve()
    await vi.advanceTimersByTimeAsync(249)
    expect(store.learned.map(({ credentialId }) => credentialId)).toEqual(['cred_a'])
    await vi.advanceTimersByTimeAsync(1)
    expect(store.learned.map(({ credentialId }) => credentialId)).toEqual(['cred_a', 'cred_b', 'cred_c'])
    expect(store.batches).toBe(2)
  })

  it('are written once, however often they are shown, but once for each site', async () => {
    const store = new LearningStore()
    const seen = record(store)
    for (let i = 0; i < 10; i++) seen.record(allow('cred_a'))
    await seen.flush()
    seen.record(allow('cred_a'))
    seen.record(allow('cred_a', {}, 'b.example'))
    await seen.flush()
    expect(store.learned.map(({ siteId }) => siteId)).toEqual(['a.example', 'b.example'])
  })

  it('are written at the next showing when the store has failed', async () => {
    const store = new LearningStore()
    const seen = record(store)
    store.isDown = true
    seen.record(allow('cred_a'))
    await seen.flush()
    store.isDown = false
    seen.record(allow('cred_a'))
    await seen.flush()
    expect(store.learned).toHaveLength(1)
  })

  it('never pile up without end while the store is slow', async () => {
    const store = new LearningStore()
    const seen = record(store, { waitingMax: 10 })
    for (let i = 0; i < 100; i++) seen.record(allow(`cred_${i}`))
    await seen.flush()
    expect(store.learned).toHaveLength(10)
    seen.record(allow('cred_99'))
    await seen.flush()
    expect(store.learned).toHaveLength(11)
  })

  it('are written before the end', async () => {
    const store = new LearningStore()
    const seen = record(store)
    seen.record(allow('cred_a'))
    await seen.close()
    expect(store.learned).toHaveLength(1)
  })
})
