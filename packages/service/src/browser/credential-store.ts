import type { HolderKey } from './holder-key.ts'

/** How a site looks, as it was when it was last seen here. */
export interface Brand {
  readonly logoPath?: string
  readonly accent?: string
  readonly supportUrl?: string
  readonly privacyUrl?: string
}

/** One credential of this browser, with the key that it is bound to. */
export interface Kept {
  /** The credential_id. */
  readonly id: string
  readonly document: object
  readonly key: HolderKey
  readonly keptAtMs: number
  /** Known to be revoked, which is final. */
  readonly isRevoked?: boolean
  /** When this person ended the access here. */
  readonly endedAtMs?: number
  readonly lastUsedAtMs?: number
  /** From the invitation: the name of the site, and where it is. */
  readonly siteName?: string
  readonly siteUrl?: string
  readonly brand?: Brand
}

/**
 * A claim that has been accepted and whose credential has not been saved yet. It can be repeated
 * with the same key.
 */
export interface PendingClaim {
  /** The code of the offer. */
  readonly offer: string
  readonly key: HolderKey
  /** When the offer expires. */
  readonly untilMs: number
  readonly siteName?: string
  readonly siteUrl?: string
  readonly brand?: Brand
}

/**
 * The credentials of this browser. Keys are stored as handles whose bytes cannot be read. Every
 * method rejects when the browser fails to store or load.
 */
export interface CredentialStore {
  all(): Promise<readonly Kept[]>
  remove(ids: readonly string[]): Promise<void>
  /** `endedAtMs`: by this person, just now. */
  markRevoked(ids: readonly string[], endedAtMs?: number): Promise<void>
  /** With the look of the site, which may have changed. */
  markUsed(id: string, atMs: number, brand: Brand): Promise<void>
  pendingClaims(): Promise<readonly PendingClaim[]>
  /**
   * Saves a claim before it is sent. Returns the claim to use: that of another tab, if it was
   * first.
   */
  keepPending(claim: PendingClaim): Promise<PendingClaim>
  removePending(offer: string): Promise<void>
  /** Saves the credential and ends its claim: both or neither. */
  keepClaimed(offer: string, kept: Kept): Promise<void>
}

const NAME = 'countersign-wallet'
const CREDENTIALS = 'credentials'
const PENDING = 'pending'

/** Rejects when the browser does not allow this page to store data. */
export async function openCredentialStore(): Promise<CredentialStore> {
  const opening = indexedDB.open(NAME, 2)
  opening.onupgradeneeded = () => {
    const { result: database } = opening
    if (!database.objectStoreNames.contains(CREDENTIALS))
      database.createObjectStore(CREDENTIALS, { keyPath: 'id' })
    if (!database.objectStoreNames.contains(PENDING))
      database.createObjectStore(PENDING, { keyPath: 'offer' })
  }
  const database = await toPromise(opening)
  // Another tab may have a newer version of this page, which must not wait for this one.
  database.onversionchange = () => database.close()
  const read = async <T>(table: string) =>
    (await toPromise(database.transaction(table).objectStore(table).getAll())) as T[]
  const write = (change: (table: (name: string) => IDBObjectStore) => unknown) =>
    new Promise<void>((resolve, reject) => {
      const transaction = database.transaction([CREDENTIALS, PENDING], 'readwrite', { durability: 'strict' })
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
      attempt(transaction, () => change((name) => transaction.objectStore(name)))
    })
  const all = async () => (await read<Kept>(CREDENTIALS)).sort((a, b) => b.keptAtMs - a.keptAtMs)
  return {
    all,
    remove: (ids) => write((table) => ids.map((id) => table(CREDENTIALS).delete(id))),
    async markRevoked(ids, endedAtMs) {
      const change = { isRevoked: true, ...(endedAtMs === undefined ? {} : { endedAtMs }) }
      const revoked = (await all()).filter(({ id, isRevoked }) => ids.includes(id) && !isRevoked)
      if (revoked.length > 0)
        await write((table) => revoked.map((kept) => table(CREDENTIALS).put({ ...kept, ...change })))
    },
    async markUsed(id, lastUsedAtMs, brand) {
      const used = (await all()).filter((kept) => kept.id === id)
      await write((table) => used.map((kept) => table(CREDENTIALS).put({ ...kept, lastUsedAtMs, brand })))
    },
    pendingClaims: () => read<PendingClaim>(PENDING),
    async keepPending(claim) {
      await write((table) => {
        const store = table(PENDING)
        const first = store.get(claim.offer)
        first.onsuccess = () => {
          if (first.result === undefined) attempt(store.transaction, () => store.put(claim))
        }
      })
      return (await read<PendingClaim>(PENDING)).find(({ offer }) => offer === claim.offer) ?? claim
    },
    removePending: (offer) => write((table) => table(PENDING).delete(offer)),
    keepClaimed: (offer, kept) =>
      write((table) => {
        table(CREDENTIALS).put(kept)
        table(PENDING).delete(offer)
      }),
  }
}

/** A change that throws ends the transaction: half of it must not be committed. */
function attempt(transaction: IDBTransaction, change: () => unknown): void {
  try {
    change()
  } catch {
    transaction.abort()
  }
}

function toPromise<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
