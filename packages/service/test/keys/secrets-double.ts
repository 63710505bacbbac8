import type { Store } from '../../src/store/store.ts'

/** Just the secrets of a store, answering a moment later, as a real one does. */
export function createSecrets(): Pick<Store, 'putSecret' | 'secret'> & {
  readonly all: Map<string, string>
  fail: boolean
} {
  const all = new Map<string, string>()
  const secrets = {
    all,
    fail: false,
    async putSecret(name: string, sealed: string, { replace = false } = {}) {
      await Promise.resolve()
      if (secrets.fail) throw new Error('the store is not there')
      if (replace || !all.has(name)) all.set(name, sealed)
      return all.get(name) ?? sealed
    },
    async secret(name: string) {
      await Promise.resolve()
      if (secrets.fail) throw new Error('the store is not there')
      return all.get(name)
    },
  }
  return secrets
}
