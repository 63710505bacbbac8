import { describe, expect, it } from 'vitest'
import { createStoreNonces } from '../../src/access/store-nonces.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'

const use = {
  holderKey: 'did:key:z6MkA',
  nonce: 'n'.repeat(22),
  createdMs: 1000,
  usableUntilMs: 61_001,
  nowMs: 2000,
}

function store() {
  const used = new Map<string, number>()
  return {
    used,
    async consumeOnce(kind: string, sha256: string, expiresAtMs: number) {
      const name = `${kind} ${sha256}`
      if (used.has(name)) return false
      used.set(name, expiresAtMs)
      return true
    },
  }
}

describe('nonces in the store', () => {
  it('are fresh once', async () => {
    const nonces = createStoreNonces(store())
    expect([await nonces.consume(use), await nonces.consume(use)]).toEqual(['fresh', 'replayed'])
  })

  it('of different holders have nothing to do with each other', async () => {
    const nonces = createStoreNonces(store())
    await nonces.consume(use)
    expect(await nonces.consume({ ...use, holderKey: 'did:key:z6MkB' })).toBe('fresh')
    expect(await nonces.consume({ ...use, nonce: 'm'.repeat(22) })).toBe('fresh')
  })

  it('are kept until the proof is too old on every node, and not without end', async () => {
    const { used, consumeOnce } = store()
    await createStoreNonces({ consumeOnce }).consume(use)
    const [expiresAtMs = 0] = used.values()
    expect(expiresAtMs).toBeGreaterThan(use.usableUntilMs)
    expect(expiresAtMs).toBeLessThan(use.usableUntilMs + 3_600_000)
  })

  it('are not fresh when the store cannot be asked', async () => {
    const failing = {
      async consumeOnce(): Promise<boolean> {
        throw new StoreUnavailable('down')
      },
    }
    await expect(createStoreNonces(failing).consume(use)).rejects.toThrow(StoreUnavailable)
  })
})
