import { expect, it } from 'vitest'
import { screenshot, type Town } from './town.ts'
import { claim, ready } from './walks.ts'

export function wallet(town: () => Town): void {
  it('claims an offer once, and forgets its link', async () => {
    const visitor = await town().visitor()
    const { page, complaints } = visitor
    const link = await town().offer('claimer')
    await page.goto(link)
    await ready(page)
    await screenshot(page, 'wallet-offer-light')
    await page.getByRole('button', { name: 'Accept' }).dblclick()
    await page.getByText('is in your wallet').waitFor()
    await page.getByText('Active').waitFor()
    await screenshot(page, 'wallet-light')
    expect(page.url()).toBe(`${town().dev.base_url}/wallet`)
    expect(await page.locator('[data-credential]').count()).toBe(1)

    const other = await town().visitor()
    await other.page.goto(link)
    await ready(other.page)
    await other.page.getByRole('button', { name: 'Accept' }).click()
    await other.page.getByText('This offer is over').waitFor()
    expect(await other.page.getByText('There is nothing here yet.').isVisible()).toBe(true)
    expect(complaints).toEqual([])
  })

  it('keeps keys that nobody can read, each credential its own, and says that nothing can be exported', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'keeper')
    await claim(town(), visitor, 'keeper', ['orders:read'])
    const keys = await page.evaluate<{ did: string; extractable: boolean; exported: string }[]>(KEPT_KEYS)
    expect(keys.map(({ extractable, exported }) => [extractable, exported])).toEqual([
      [false, 'no'],
      [false, 'no'],
    ])
    expect(new Set(keys.map(({ did }) => did)).size).toBe(2)
    expect(await page.getByText('nothing can be exported').isVisible()).toBe(true)
  })

  it('shows a revocation from elsewhere while it is open', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'watcher')
    await page.locator('.status.active').waitFor()
    const { ppid } = await town().credential('watcher')
    await town().client.revokeUser({ ppid, site_id: town().siteId })
    await page.locator('.status.revoked').waitFor()
    await page.getByText('has been revoked').waitFor()
    expect(await page.getByRole('button', { name: 'Revoke my access' }).isVisible()).toBe(false)
    await screenshot(page, 'wallet-revoked-light')
  })

  it('deletes a credential after a warning, and not without', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'deleter')
    const remove = page.getByRole('button', { name: 'Delete from this browser' })
    await remove.click()
    await page.keyboard.press('Escape')
    expect(await page.locator('[data-credential]').count()).toBe(1)
    await remove.click()
    expect(await page.getByRole('dialog').textContent()).toContain('There is no copy')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('There is nothing here yet.').waitFor()
    await page.reload()
    await page.getByText('There is nothing here yet.').waitFor()
  })

  it('goes to the name under which its keys sign', async () => {
    const { page } = await town().visitor()
    await page.goto(`${town().dev.base_url.replace('127.0.0.1', 'localhost')}/wallet`)
    await page.waitForURL(`${town().dev.base_url}/wallet`)
  })
}

/** Runs in the page: everything that a script of the page can get out of the wallet's keys. */
const KEPT_KEYS = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('countersign-wallet')
  opening.onerror = () => reject(opening.error)
  opening.onsuccess = () => {
    const all = opening.result.transaction('credentials').objectStore('credentials').getAll()
    all.onsuccess = () => resolve(Promise.all(all.result.map(async ({ key: { did, privateKey } }) => {
      const exports = ['jwk', 'pkcs8', 'raw'].map((form) => crypto.subtle.exportKey(form, privateKey))
      const exported = await Promise.any(exports).then(() => 'yes', () => 'no')
      return { did, extractable: privateKey.extractable, exported }
    })))
  }
})`
