import type { HolderKey } from './holder-key.ts'

/** One credential of this browser, with the key that it is bound to. */
export interface Kept {
  /** The credential_id. */
  readonly id: string
  readonly document: object
  readonly key: HolderKey
  readonly keptAtMs: number
}

/** What this browser keeps. Keys go in and out as handles; what they are nobody can read. */
export interface Vault {
  all(): Promise<readonly Kept[]>
  keep(kept: Kept): Promise<void>
  remove(id: string): Promise<void>
}

const NAME = 'countersign-wallet'
const TABLE = 'credentials'

/** Rejects where the browser lets this page keep nothing. */
export async function openVault(): Promise<Vault> {
  const opening = indexedDB.open(NAME, 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE, { keyPath: 'id' })
  const database = await done(opening)
  // Another tab may have a newer version of this page; it must not wait for us.
  database.onversionchange = () => database.close()
  const table = (mode: IDBTransactionMode) => database.transaction(TABLE, mode, { durability: 'strict' })
  const write = (change: (store: IDBObjectStore) => unknown) =>
    new Promise<void>((resolve, reject) => {
      const transaction = table('readwrite')
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
      change(transaction.objectStore(TABLE))
    })
  return {
    async all() {
      const kept = (await done(table('readonly').objectStore(TABLE).getAll())) as Kept[]
      return kept.sort((a, b) => b.keptAtMs - a.keptAtMs)
    },
    keep: (kept) => write((store) => store.put(kept)),
    remove: (id) => write((store) => store.delete(id)),
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
