import { expect, test } from 'vitest'
import { screenshot, type Town } from './town.ts'
import { claim, endAccess, focused, openList, openPass, ready } from './walks.ts'

export function wallet(town: () => Town): void {
  test('claims an offer once, and forgets its link', async () => {
    const visitor = await town().visitor()
    const { page, complaints } = visitor
    const link = await town().offer('claimer')
    await page.goto(link)
    await ready(page)
    await screenshot(page, 'wallet-offer-light')
    await page.getByRole('button', { name: 'Add to this browser' }).dblclick()
    await page.getByRole('heading', { name: 'You’re in' }).waitFor()
    expect([page.url(), await focused(page)]).toEqual([`${town().dev.base_url}/wallet`, 'claimed-title'])
    const next = page.getByRole('link', { name: 'Continue to Blue Door Orders' })
    expect(await next.getAttribute('href')).toBe(town().site)
    await page.getByRole('link', { name: 'See all my access' }).click()
    await page.locator('.pill.active').waitFor()
    await screenshot(page, 'wallet-light')
    expect(await page.locator('[data-credential]').count()).toBe(1)
    await page.setViewportSize({ width: 1280, height: 800 })
    expect((await page.locator('a.pass').boundingBox())?.height).toBeLessThan(110)

    const other = await town().visitor()
    await other.page.goto(link)
    await other.page.getByText('This invitation is no longer valid').waitFor()
    expect(await focused(other.page)).toBe('problem')
    expect(await other.page.getByRole('heading', { name: 'No access yet' }).isVisible()).toBe(true)
    expect(await other.page.getByRole('button', { name: 'Add to this browser' }).isVisible()).toBe(false)
    expect(complaints).toEqual([])
  })

  test('A4: shows who offers what before anything is accepted, and uses nothing up', async () => {
    const { page } = await town().visitor()
    const asked: string[] = []
    page.on(
      'request',
      (request) =>
        void (request.method() === 'POST' && asked.push(request.url().replace(town().dev.base_url, ''))),
    )
    const link = await town().offer('reader')
    for (let i = 0; i < 2; i++) {
      await page.goto('about:blank')
      await page.goto(link)
      await page.getByRole('heading', { name: 'Blue Door Orders is inviting you' }).waitFor()
      const text = await page.locator('#view-claim').innerText()
      for (const words of [
        town().siteId,
        'View orders',
        'Change orders',
        '30 days',
        new URL(town().dev.base_url).host,
      ])
        expect(text).toContain(words)
    }
    expect(asked).toEqual(['/wallet/offer', '/wallet/offer'])
    await page.getByRole('button', { name: 'Not now' }).click()
    await page.locator('#notice').getByText('You can open this link again until').waitFor()
    expect([await focused(page), new URL(page.url()).hash]).toEqual(['notice', ''])
    await page.goto(link)
    await page.getByRole('button', { name: 'Add to this browser' }).click()
    await page.getByRole('heading', { name: 'You’re in' }).waitFor()
    expect(await focused(page)).toBe('claimed-title')
  })

  test('A4: can be tried again when the offer cannot be looked up', async () => {
    const { page } = await town().visitor()
    await page.route('**/wallet/offer', (route) => route.abort())
    await page.goto(await town().offer('unlucky'))
    await page.getByText('The service didn’t answer.').waitFor()
    expect(await page.getByRole('button', { name: 'Add to this browser' }).isEnabled()).toBe(false)
    await page.unroute('**/wallet/offer')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Blue Door Orders is inviting you' }).waitFor()
  })

  test('A2: a claim whose answer is lost succeeds at the next press, with one credential', async () => {
    const { page } = await town().visitor()
    await page.goto(await town().offer('train'))
    await ready(page)
    await page.route('**/wallet/claim', async (route) => {
      await route.fetch()
      await route.abort()
    })
    const { ppid } = await town().credential('train')
    const count = async () =>
      (await town().client.listCredentials({ site_id: town().siteId, ppid })).items.length
    const before = await count()
    await page.getByRole('button', { name: 'Add to this browser' }).click()
    await page.getByText('The service didn’t answer.').waitFor()
    expect(await focused(page)).toBe('accept')
    await page.unroute('**/wallet/claim')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'You’re in' }).waitFor()
    expect((await count()) - before).toBe(1)
    await openList(page)
    await page.locator('.pill.active').waitFor()
  })

  test('A3: a claim that was interrupted by a reload goes on by itself, with or without its link', async () => {
    for (const path of [undefined, '/wallet']) {
      const { page } = await town().visitor()
      await page.goto(await town().offer('reloader'))
      await ready(page)
      const { promise: reached, resolve } = Promise.withResolvers<void>()
      await page.route('**/wallet/claim', async (route) => {
        await route.fetch()
        resolve()
      })
      await page.getByRole('button', { name: 'Add to this browser' }).click()
      await page.getByText('Adding it to this browser').waitFor()
      await reached
      await page.unroute('**/wallet/claim')
      if (path === undefined) await page.reload()
      else {
        await page.goto('about:blank')
        await page.goto(town().dev.base_url + path)
      }
      await page.getByRole('heading', { name: 'You’re in' }).waitFor()
      expect([await page.locator('[data-credential]').count(), new URL(page.url()).hash]).toEqual([1, ''])
    }
  })

  test('A3: an offer is not used up when nothing can be saved, and the person is told', async () => {
    const { page, complaints } = await town().visitor()
    await page.goto(await town().offer('full-disk'))
    await ready(page)
    const claims: string[] = []
    page.on(
      'request',
      (request) => void (request.url().endsWith('/wallet/claim') && claims.push(request.url())),
    )
    await page.evaluate(FULL_DISK)
    await page.getByRole('button', { name: 'Add to this browser' }).click()
    await page.getByText('This browser couldn’t save the new key.').waitFor()
    expect([claims, await focused(page)]).toEqual([[], 'accept'])
    await page.evaluate(ROOM_AGAIN)
    // The key can be saved, and then the credential cannot.
    await page.route('**/wallet/claim', async (route) => {
      await page.evaluate(FULL_DISK)
      await route.continue()
    })
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('This browser couldn’t save your access.').waitFor()
    await screenshot(page, 'wallet-not-saved-light')
    await page.unroute('**/wallet/claim')
    await page.evaluate(ROOM_AGAIN)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'You’re in' }).waitFor()
    expect(await page.locator('[data-credential]').count()).toBe(1)
    expect(complaints).toEqual([])
  })

  test('A9: a claim says that it is still working, and can be repeated when there is no answer', async () => {
    const { page } = await town().visitor({ isAlone: true })
    await page.clock.install()
    await page.goto(await town().offer('tunnel'))
    await ready(page)
    await page.route('**/wallet/claim', () => {})
    await page.getByRole('button', { name: 'Add to this browser' }).click()
    await page.getByText('Adding it to this browser').waitFor()
    await page.clock.fastForward(8_100)
    await page.getByText('Still working.').waitFor()
    await page.clock.fastForward(12_000)
    await page.getByText('The service didn’t answer in time.').waitFor()
    // Proofs of a clock that is ahead are refused.
    await page.clock.setSystemTime(new Date())
    await page.unroute('**/wallet/claim')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'You’re in' }).waitFor()
  })

  test('A9: revoking can be repeated when its answer was lost', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'lost-revocation')
    await page.route('**/revoke-user', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await openPass(page)
    await endAccess(page)
    await page.getByText('The service didn’t answer.').waitFor()
    expect(await focused(page)).toBe('problem')
    await page.unroute('**/revoke-user')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.notice.good').getByText('has ended').waitFor()
    expect(await focused(page)).toBe('notice')
  })

  test('A12: without a connection, revoked stays revoked, also after a reload of the list', async () => {
    const visitor = await town().visitor({ isAlone: true })
    const { page } = visitor
    await page.clock.install()
    await claim(town(), visitor, 'offline')
    await openList(page)
    await page.locator('.pill.active').waitFor()
    await claim(town(), visitor, 'offline-active')
    await openList(page)
    const { ppid } = await town().credential('offline')
    await town().client.revokeUser({ ppid, site_id: town().siteId })
    await page.clock.fastForward(LOOK_MS)
    await page.getByText('Past access (1)').click()
    await page.locator('.pill.revoked').waitFor()
    await page.route('**/revocation-status?*', (route) => route.abort())
    await page.clock.fastForward(LOOK_MS)
    await page.getByText('Can’t check right now').waitFor()
    expect(await page.locator('.pill.revoked').count()).toBe(1)
    await page.reload()
    await page.getByText('Can’t check right now').waitFor()
    expect(await page.locator('.pill.revoked').count()).toBe(1)
    await page.getByText('Past access (1)').click()
    await page.locator('a.pass', { has: page.locator('.pill.revoked') }).click()
    await page.locator('#pass-title').waitFor()
    expect(await page.getByRole('button', { name: 'End my access everywhere' }).isVisible()).toBe(false)
    await screenshot(page, 'wallet-offline-light')
  })

  test('C27: the focus is never lost, and C29: entries have names of their own', {
    tags: 'long',
  }, async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    for (let i = 0; i < 3; i++) await claim(town(), visitor, `focus-${Math.min(i, 1)}`, ['orders:read'])
    await openList(page)
    const names = await page.locator('a.pass').allTextContents()
    expect([names.length, new Set(names).size]).toEqual([3, 3])
    // Grouped by site.
    expect(await page.getByRole('heading', { name: 'Blue Door Orders' }).count()).toBe(1)

    // Into the details and back, with the keyboard.
    await page.locator('a.pass').last().focus()
    const opened = await page.locator('a.pass').last().getAttribute('data-credential')
    await page.keyboard.press('Enter')
    await page.locator('#pass-title').waitFor()
    expect(await focused(page)).toBe('pass-title')
    await page.goBack()
    await page.getByRole('heading', { name: 'Your access' }).waitFor()
    expect(await page.evaluate('document.activeElement.dataset.credential')).toBe(opened)
    await page.keyboard.press('Enter')
    const remove = page.getByRole('button', { name: 'Remove from this browser' })
    await remove.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    expect(await page.evaluate('document.activeElement.innerText')).toBe('Cancel')
    await page.keyboard.press('Escape')
    expect(await page.evaluate('document.activeElement.innerText')).toBe('Remove from this browser')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('has been removed from this browser').waitFor()
    expect(await focused(page)).toBe('notice')

    // Ended by this person: one calm notice, also when it takes a second credential of the user
    // along.
    await page.locator('.pill.active').nth(1).waitFor()
    await openPass(page)
    await page.getByRole('button', { name: 'End my access everywhere' }).click()
    expect(await page.getByRole('dialog').textContent()).toContain('2 access entries in this browser end.')
    await page.getByRole('dialog').getByRole('button', { name: 'End access' }).click()
    await page.locator('.notice.good').getByText('has ended').waitFor()
    expect(await focused(page)).toBe('notice')
    await page.getByText('Past access (2)').waitFor()
    expect([
      await page.locator('.pill.revoked').count(),
      await page.locator('.notice.bad').count(),
      await page.getByText('Ended by you').count(),
    ]).toEqual([2, 0, 2])
    await page.getByRole('button', { name: 'Clear past access' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Past access has been cleared.').waitFor()
    expect([await focused(page), await page.locator('a.pass').count()]).toEqual(['notice', 0])
  })

  test('C27: a button that goes away while it has the focus passes it on', async () => {
    const visitor = await town().visitor({ isAlone: true })
    const { page } = visitor
    await page.clock.install()
    await claim(town(), visitor, 'pulled-away')
    await openPass(page)
    await page.locator('#view-pass .pill.active').waitFor()
    await page.getByRole('button', { name: 'End my access everywhere' }).focus()
    const { ppid } = await town().credential('pulled-away')
    await town().client.revokeUser({ ppid, site_id: town().siteId })
    await page.clock.fastForward(LOOK_MS)
    await page.locator('#view-pass .pill.revoked').waitFor()
    expect(await focused(page)).toBe('pass-title')
  })

  test('keeps keys that cannot be read, each credential its own, and says that nothing can be exported', async () => {
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
    await openPass(page)
    expect(await page.getByText('Your keys never leave this browser').isVisible()).toBe(true)
  })

  test('shows a revocation from elsewhere while it is open', async () => {
    const visitor = await town().visitor({ isAlone: true })
    const { page } = visitor
    await page.clock.install()
    await claim(town(), visitor, 'watcher')
    await openList(page)
    await page.locator('.pill.active').waitFor()
    const { ppid } = await town().credential('watcher')
    await town().client.revokeUser({ ppid, site_id: town().siteId })
    await page.clock.fastForward(LOOK_MS)
    await page.getByText('Past access (1)').waitFor()
    await page.getByText('has been revoked').waitFor()
    await screenshot(page, 'wallet-revoked-light')
  })

  test('deletes a credential after a warning, and not without', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'deleter')
    await openPass(page)
    const remove = page.getByRole('button', { name: 'Remove from this browser' })
    await remove.click()
    await page.keyboard.press('Escape')
    await remove.click()
    expect(await page.getByRole('dialog').textContent()).toContain('there is no copy')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('heading', { name: 'No access yet' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'No access yet' }).waitFor()
  })

  test('goes to the name under which its keys sign', async () => {
    const { page } = await town().visitor()
    await page.goto(`${town().dev.base_url.replace('127.0.0.1', 'localhost')}/wallet`)
    await page.waitForURL(`${town().dev.base_url}/wallet`)
  })
}

/** After this time an open wallet asks for the statuses again. */
const LOOK_MS = 4_000

/** Run in the page: its storage is full, and has room again. */
const FULL_DISK = `window.realPut ??= IDBObjectStore.prototype.put
  IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError') }`
const ROOM_AGAIN = 'IDBObjectStore.prototype.put = window.realPut'

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
