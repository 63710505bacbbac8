/**
 * The page carries this script, so that the service is asked for the statuses while the script of
 * the page is still on its way. It must be small: the page is sent as it is, without compression.
 */
import type { EarlyStatuses } from './statuses.ts'

async function askEarly(siteId?: string): Promise<EarlyStatuses | undefined> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open('countersign-wallet')
    // There is none, and creating it is for the script of the page.
    opening.onupgradeneeded = () => opening.transaction?.abort()
    opening.onsuccess = () => resolve(opening.result)
    opening.onerror = reject
  })
  const kept = await new Promise<Held[]>((resolve, reject) => {
    const reading = database.transaction('credentials').objectStore('credentials').getAll()
    reading.onsuccess = () => resolve(reading.result)
    reading.onerror = reject
  })
  database.close()
  const ids = kept.filter((one) => !one.isRevoked && one.document.credentialSubject?.site_id === siteId)
  if (ids.length === 0) return undefined
  const query = new URLSearchParams(ids.slice(0, 100).map(({ id }) => ['credential_ids', id]))
  const url = `/api/wallet/revocation-status?${query}`
  const signal = AbortSignal.timeout(8000)
  const response = await fetch(url, { credentials: 'omit', cache: 'no-store', signal })
  return { url, ...(await response.json()) }
}

interface Held {
  readonly id: string
  readonly isRevoked?: boolean
  readonly document: { readonly credentialSubject?: { readonly site_id?: string } }
}

Object.assign(globalThis, {
  EARLY_STATUSES: askEarly(document.currentScript?.dataset.site).catch(() => {}),
})
