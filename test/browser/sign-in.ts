import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { screenshot, type Town, type Visitor } from './town.ts'
import {
  askToSignIn,
  claim,
  clickToSignIn,
  endAccess,
  focused,
  isIn,
  isRefused,
  openPass,
  paste,
  ready,
  submit,
} from './walks.ts'

export function signIn(town: () => Town): void {
  test('goes from an offer over the wallet to the site, which learns the ppid, and ends when access is revoked in another window', async () => {
    const visitor = await town().visitor()
    const { page, context, complaints } = visitor
    await claim(town(), visitor, 'walker')
    await clickToSignIn(town(), page)
    await ready(page)
    await screenshot(page, 'sign-in-light')
    await submit(page)
    const { ppid } = await town().credential('walker')
    expect(await isIn(town(), page)).toBe(ppid)
    await screenshot(page, 'example-site-in')

    const other = await context.newPage()
    await other.goto(`${town().dev.base_url}/wallet`)
    await ready(other)
    await openPass(other)
    await endAccess(other)
    await other.locator('.pill.revoked').waitFor()

    // The page of the site is not touched.
    await page.getByText('Your access has ended').waitFor()
    expect(await page.locator('#ended').textContent()).toContain('credential_revoked')
    await clickToSignIn(town(), page)
    await ready(page)
    await page.getByText('This access was revoked.').waitFor()
    expect(complaints).toEqual([])
  })

  test('needs few and small requests on a slow network', async () => {
    const visitor = await town().visitor()
    const { page, context } = visitor
    await claim(town(), visitor, 'slow')
    const network = await context.newCDPSession(page)
    await network.send('Network.enable')
    await network.send('Network.clearBrowserCache')
    await page.goto(town().site)
    const paths: string[] = []
    let bytes = 0
    network.on('Network.responseReceived', ({ response }) => {
      if (!response.url.startsWith(town().site)) paths.push(new URL(response.url).pathname)
    })
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.waitForURL(/\/auth\/sign-in\?/)
    await ready(page)
    const kinds = paths.map((path) => path.split('/').at(-1)).filter((name) => name !== 'icon.svg')
    expect(kinds.toSorted()).toEqual(['hosted.css', 'revocation-status', 'sign-in', 'sign-in.en.js'])
    expect(bytes).toBeGreaterThan(5_000)
    expect(bytes).toBeLessThan(30_000)
  })

  test('asks for the statuses while its script is still on its way', async () => {
    const visitor = await town().visitor()
    const { page, complaints } = visitor
    await claim(town(), visitor, 'early')
    const asked: string[] = []
    const first = new Promise<void>((resolve) => {
      page.on('request', (request) => {
        if (!request.url().includes('/revocation-status?')) return
        asked.push(request.url())
        resolve()
      })
    })
    await page.route('**/sign-in.en.js', async (route) => {
      await first
      await route.continue()
    })
    await askToSignIn(town(), page)
    await ready(page)
    await page.locator('.pill.active').waitFor()
    expect(asked).toHaveLength(1)
    expect(complaints).toEqual([])
  })

  test('A359: carries one script that runs, and no other text runs in its place', async () => {
    const inject = async ({ page }: Visitor) => {
      await askToSignIn(town(), page)
      await ready(page)
      await page.route('**/auth/sign-in?*', async (route) => {
        const response = await route.fetch()
        const added =
          '<script>globalThis.added = true</script><script type="module" src="data:text/javascript,globalThis.added=true"></script>'
        const body = (await response.text())
          .replace(/<script data-site="[^"]*">/, '$&globalThis.changed = true;')
          .replace('</head>', `${added}</head>`)
        await route.fulfill({ response, body })
      })
      await page.reload()
      await ready(page)
      return page.evaluate('[globalThis.changed, globalThis.added, typeof globalThis.EARLY_STATUSES]')
    }
    const visitor = await town().visitor()
    expect(await inject(visitor)).toEqual([undefined, undefined, 'undefined'])
    expect(visitor.complaints.filter((one) => one.includes('Content Security Policy'))).toHaveLength(3)
    // Without the policy all of them would run.
    expect(await inject(await town().visitor({ bypassCSP: true }))).toEqual([true, true, 'object'])
  })

  test('goes back to the site when the user cancels', async () => {
    const { page } = await town().visitor()
    await clickToSignIn(town(), page)
    await page.getByRole('link', { name: 'Back to Blue Door Orders' }).click()
    await page.waitForURL(`${town().site}/?cancelled`)
    await page.getByText('You cancelled the sign-in.').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
  })

  test('explains a wrong credential before anything is sent, and takes the right one', {
    tags: 'long',
  }, async () => {
    const { page } = await town().visitor()
    const sent: string[] = []
    page.on(
      'request',
      (request) => void (request.url().endsWith('/auth/present') && sent.push(request.postData() ?? '')),
    )
    const { credential, ppid } = await town().credential('chooser')
    const changed = (subject: object, more: object = {}) => ({
      ...credential,
      ...more,
      credentialSubject: { ...(credential as { credentialSubject: object }).credentialSubject, ...subject },
    })
    await askToSignIn(town(), page)
    await ready(page)
    const tries: [object | string, RegExp][] = [
      ['not a credential', /isn’t a credential that we can read/],
      [changed({ site_id: 'other.example' }), /is for other\.example, not for Blue Door Orders/],
      [changed({}, { validUntil: '2020-01-01T00:00:00Z' }), /This access expired on January 1, 2020/],
      [
        changed({}, { validFrom: '2100-01-01T00:00:00Z', validUntil: '2101-01-01T00:00:00Z' }),
        /isn’t valid before January 1, 2100/,
      ],
      [changed({ scope: ['orders:write'] }), /doesn’t let you: View orders/],
      [
        changed({ holder_key: 'did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH' }),
        /bound to a key that isn’t in this browser/,
      ],
    ]
    for (const [wrong, words] of tries) {
      await paste(page, wrong)
      expect(await page.locator('#said').textContent()).toMatch(words)
      await submit(page)
      await page.locator('#problem').getByText(words).waitFor()
    }
    await screenshot(page, 'sign-in-wrong-credential-light')
    expect(sent).toEqual([])
    // This one only the service can tell.
    await paste(page, { ...credential, validUntil: '2030-01-01T00:00:00Z' })
    await submit(page)
    await page.getByText('This credential has been altered or is damaged').waitFor()
    expect(sent).toHaveLength(1)
    await paste(page, credential)
    await page.getByText('You can use this credential.').waitFor()
    await submit(page)
    expect(await isIn(town(), page)).toBe(ppid)
    expect(page.url()).not.toContain('validUntil')
  })

  test('takes a credential from a file, and as the text of its header', { tags: 'long' }, async () => {
    const { page } = await town().visitor()
    const { credential, ppid, id } = await town().credential('filer')
    const file = join(tmpdir(), `${id}.json`)
    writeFileSync(file, JSON.stringify(credential, undefined, 2))
    await askToSignIn(town(), page)
    await ready(page)
    await page.getByText('I have a credential file').click()
    await page.getByLabel('Credential file').setInputFiles(file)
    await page.getByText('You can use this credential.').waitFor()
    await submit(page)
    expect(await isIn(town(), page)).toBe(ppid)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await askToSignIn(town(), page)
    await ready(page)
    await paste(
      page,
      Buffer.from(JSON.stringify(credential)).toString('base64url').replaceAll(/.{76}/g, '$&\n'),
    )
    await submit(page)
    expect(await isIn(town(), page)).toBe(ppid)
  })

  test('works without JavaScript for a credential that is not bound to a key', async () => {
    const { page } = await town().visitor({ javaScriptEnabled: false })
    const { credential, ppid } = await town().credential('scriptless')
    await askToSignIn(town(), page)
    await paste(page, { ...credential, issuer: 'did:web:elsewhere.example' })
    await submit(page)
    await page.getByText('doesn’t trust the issuer of this credential').waitFor()
    await screenshot(page, 'sign-in-no-script-light')
    await paste(page, credential)
    await submit(page)
    expect(await isIn(town(), page)).toBe(ppid)
  })

  test('says that a sign-in is over when it took too long; the back button leads to the site, or says that it is over', {
    tags: 'long',
  }, async () => {
    const { page } = await town().visitor()
    await clickToSignIn(town(), page)
    const url = page.url()
    town().expireSignIns()
    await paste(page, (await town().credential('late')).credential)
    await submit(page)
    await page.getByText('This sign-in is no longer valid').waitFor()
    await page.goto(url)
    await isRefused(page, 'state_invalid')
    await screenshot(page, 'error-light')

    // Without JavaScript the page stays in the history, and says what it is.
    const { page: plain } = await town().visitor({ javaScriptEnabled: false })
    for (const tab of [page, plain]) {
      await clickToSignIn(town(), tab)
      await paste(tab, (await town().credential('late')).credential)
      await submit(tab)
      await isIn(town(), tab)
      await tab.goBack()
    }
    expect(await isIn(town(), page)).toMatch(/^did:service:ppid_/)
    await isRefused(plain, 'state_invalid')
  })

  test('is one sign-in however often the button is pressed', async () => {
    const { page } = await town().visitor()
    const presented: string[] = []
    page.on(
      'request',
      (request) => void (request.url().endsWith('/auth/present') && presented.push(request.url())),
    )
    await askToSignIn(town(), page)
    await ready(page)
    await paste(page, (await town().credential('hasty')).credential)
    await page.getByRole('button', { name: 'Continue' }).dblclick()
    await isIn(town(), page)
    expect(presented).toHaveLength(1)
  })

  test('can go on in two tabs at once, and the same one only once', { tags: 'long' }, async () => {
    const { page, context } = await town().visitor()
    const other = await context.newPage()
    const { credential, ppid } = await town().credential('tabber')
    await askToSignIn(town(), page)
    await other.goto(page.url())
    for (const tab of [page, other]) await paste(tab, credential)
    await submit(page)
    expect(await isIn(town(), page)).toBe(ppid)
    await submit(other)
    await other.getByText('This sign-in is no longer valid').waitFor()
  })

  test('A1: signs in in both of two tabs, in whichever order they finish', { tags: 'long' }, async () => {
    const { page, context } = await town().visitor()
    const other = await context.newPage()
    const { credential, ppid } = await town().credential('two-tabs')
    for (const [first, last] of [
      [page, other],
      [other, page],
    ] as const) {
      await clickToSignIn(town(), page)
      await clickToSignIn(town(), other)
      for (const tab of [first, last]) {
        await ready(tab)
        await paste(tab, credential)
        await submit(tab)
        expect(await isIn(town(), tab)).toBe(ppid)
      }
      await page.getByRole('button', { name: 'Sign out' }).click()
      // The page in the other tab notices, and loads itself again.
      for (const tab of [page, other]) await tab.getByRole('link', { name: 'Sign in' }).waitFor()
    }
  })

  test('cannot be opened or finished by another browser', { tags: 'long' }, async () => {
    const victim = await town().visitor()
    const thief = await town().visitor()
    const { credential, ppid } = await town().credential('victim')
    await clickToSignIn(town(), victim.page)
    await ready(victim.page)
    await thief.page.goto(victim.page.url())
    await isRefused(thief.page, 'state_invalid')
    // The thief even gets hold of the way back, with its payload.
    const { promise: stolen, resolve } = Promise.withResolvers<object>()
    await victim.page.route(/\/auth\/sdk-callback/, async (route) => {
      const url = route.request().url()
      resolve({ url, status: await thief.page.goto(url).then((answer) => answer?.status(), String) })
      await route.continue()
    })
    await paste(victim.page, credential)
    await submit(victim.page)
    expect(await stolen).toEqual({ url: expect.stringContaining('payload='), status: 400 })
    await isRefused(thief.page, 'state_invalid')
    expect(await isIn(town(), victim.page)).toBe(ppid)
  })

  test('can be done with the keyboard alone', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'typist')
    await askToSignIn(town(), page)
    await ready(page)
    const reached: string[] = []
    // With one credential that fits, the button has the focus, above the fold of a small phone.
    expect(await focused(page)).toBe('submit')
    await page.setViewportSize({ width: 375, height: 600 })
    const box = await page.getByRole('button', { name: 'Continue' }).boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(600)
    for (let i = 0; i < 4; i++) {
      await page.keyboard.press('Tab')
      reached.push(await page.evaluate('document.activeElement.innerText || document.activeElement.name'))
    }
    expect(reached).toEqual(['Cancel', 'I have a credential file', 'What Blue Door Orders will see', 'Help'])
    for (let i = 0; i < 4; i++) await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await isIn(town(), page)
  })

  test('A7: offers no revoked or expired credential, says why, and preselects one that is valid', {
    tags: 'long',
  }, async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'revoked-first')
    const { ppid } = await town().credential('revoked-first')
    await claim(town(), visitor, 'still-good')
    await town().client.revokeUser({ ppid, site_id: town().siteId }, { waitSeconds: 5 })
    await askToSignIn(town(), page)
    await ready(page)
    const isOneLeft = async () => [
      await page.getByRole('radio').count(),
      await page.getByRole('radio').isChecked(),
    ]
    expect(await isOneLeft()).toEqual([1, true])
    await page.locator('.pill.active').waitFor()
    // The whole card is the target.
    await page.getByText('Valid until').click()
    await page.getByText('1 more that you can’t use now').click()
    await page.getByText('This access was revoked.').waitFor()
    await screenshot(page, 'sign-in-one-revoked-light')

    // What is revoked stays known when the service cannot be asked.
    await page.route('**/revocation-status?*', (route) => route.abort())
    await page.reload()
    await ready(page)
    expect(await isOneLeft()).toEqual([1, true])
    await submit(page)
    await isIn(town(), page)
  })

  test('A7: without an answer about revocations people can still sign in, and a refused credential is not chosen again', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'offline-revoked')
    const { ppid } = await town().credential('offline-revoked')
    await town().client.revokeUser({ ppid, site_id: town().siteId }, { waitSeconds: 5 })
    await page.route('**/revocation-status?*', (route) => route.abort())
    await askToSignIn(town(), page)
    await ready(page)
    await submit(page)
    await page.getByText('Your access was revoked').waitFor()
    expect(await focused(page)).toBe('problem')
    expect(await page.getByRole('radio').count()).toBe(0)
    await page.getByRole('link', { name: 'Back to Blue Door Orders' }).waitFor()
  })

  test('A8: nothing can be sent before the script is ready, however often the button is pressed', async () => {
    const visitor = await town().visitor()
    const { page } = visitor
    await claim(town(), visitor, 'impatient')
    const posts: string[] = []
    page.on(
      'request',
      (request) => void (request.method() === 'POST' && posts.push(new URL(request.url()).pathname)),
    )
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/\/assets\/\w+\/sign-in\.en\.js$/, async (route) => {
      await held
      await route.continue()
    })
    await page.goto(town().site)
    await page.getByRole('link', { name: 'Sign in' }).click({ noWaitAfter: true })
    const button = page.getByRole('button', { name: 'Continue' })
    await button.waitFor()
    await button.click({ force: true })
    await page.keyboard.press('Enter')
    expect(await button.isDisabled()).toBe(true)
    expect(await page.getByRole('textbox').count()).toBe(0)
    release()
    await ready(page)
    expect(posts).toEqual([])
    await submit(page)
    await isIn(town(), page)
    expect(posts).toEqual(['/auth/present'])
  })

  test('A8: says how to go on when the script does not come', { tags: 'long' }, async () => {
    const { page } = await town().visitor()
    await page.route(/\/assets\/\w+\/sign-in\.en\.js$/, (route) => route.abort())
    await askToSignIn(town(), page)
    await page.getByRole('link', { name: 'Reload this page' }).waitFor()
    await page.unroute(/\/assets\/\w+\/sign-in\.en\.js$/)
    await page.getByRole('link', { name: 'Reload this page' }).click()
    await ready(page)
    expect(await page.getByRole('link', { name: 'Reload this page' }).isVisible()).toBe(false)
  })

  test('A9: says that it is still working, gives up after a while, and signs in at the next try', async () => {
    const { page } = await town().visitor({ isAlone: true })
    await page.clock.install()
    const { credential, ppid } = await town().credential('patient')
    await askToSignIn(town(), page)
    await ready(page)
    await paste(page, credential)
    await page.route('**/auth/present', () => {})
    await submit(page)
    await page.getByText('Signing you in…').waitFor()
    await page.clock.fastForward(8_100)
    await page.getByText('Still working.').waitFor()
    await page.clock.fastForward(12_000)
    await page.getByText('The service didn’t answer in time.').waitFor()
    expect(await focused(page)).toBe('problem')
    await page.unroute('**/auth/present')
    await page.getByRole('button', { name: 'Try again' }).click()
    expect(await isIn(town(), page)).toBe(ppid)
  })

  test('A10: the page of a sign-in that is over leads back to the site', async () => {
    const { page } = await town().visitor()
    await clickToSignIn(town(), page)
    await ready(page)
    town().expireSignIns()
    await paste(page, (await town().credential('too-late')).credential)
    await submit(page)
    const back = page.getByRole('link', { name: 'Back to Blue Door Orders' })
    await back.waitFor()
    expect([await focused(page), await page.getByRole('button', { name: 'Continue' }).isVisible()]).toEqual([
      'title',
      false,
    ])
    await page.reload()
    await isRefused(page, 'state_invalid')
    await back.click()
    await page.waitForURL((url) => url.href.startsWith(`${town().site}/callback?error=state_invalid`))
    await page.getByRole('link', { name: 'Start again' }).click()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
  })

  test('A11: counts the tries aloud, warns before the last ones, and gives the right reason at the end', {
    tags: 'long',
  }, async () => {
    const { page } = await town().visitor()
    const { credential } = await town().credential('guesser')
    await askToSignIn(town(), page)
    await ready(page)
    await paste(page, { ...credential, validUntil: '2030-01-01T00:00:00Z' })
    const words = [
      '9 tries left',
      '8 tries',
      '7 tries',
      '6 tries',
      '5 tries',
      '4 tries',
      '3 tries left. After that',
      '2 tries left. After that',
      'your last try. After that',
    ]
    for (const one of words) {
      await submit(page)
      await page.getByRole('alert').getByText(one).waitFor()
    }
    await submit(page)
    await page.getByRole('heading', { name: 'You’ve used all tries of this sign-in' }).waitFor()
    expect(await focused(page)).toBe('title')
    await page.getByRole('link', { name: 'Back to Blue Door Orders' }).waitFor()
    await screenshot(page, 'sign-in-tries-used-light')
    await page.reload()
    await page.getByRole('heading', { name: 'You’ve used all tries of this sign-in' }).waitFor()
  })
  test('warns two minutes before its end, and says by itself that it has expired', async () => {
    const visitor = await town().visitor({ isAlone: true })
    const { page } = visitor
    await claim(town(), visitor, 'dreamer')
    await page.clock.install()
    await askToSignIn(town(), page)
    await ready(page)
    await page.getByText(/Expires in \d:\d\d/).waitFor()
    await page.clock.fastForward(481_000)
    await page.getByText('This sign-in expires in two minutes.').waitFor()
    await page.clock.fastForward(120_000)
    await page.getByRole('heading', { name: 'This sign-in has expired' }).waitFor()
    expect(await focused(page)).toBe('title')
    await page.getByRole('link', { name: 'Back to Blue Door Orders' }).waitFor()
    expect(await page.getByRole('button', { name: 'Continue' }).isVisible()).toBe(false)
  })

  test('a wrong link names to its author what is wrong, and its details can be copied', async () => {
    const { page } = await town().visitor({ permissions: ['clipboard-read', 'clipboard-write'] })
    const query = new URLSearchParams({ site_id: town().siteId, return_url: `${town().site}/callback` })
    await page.goto(`${town().dev.base_url}/auth/sdk-request?${query}`)
    await page.getByText('Details for support').click()
    expect(await page.locator('#support').textContent()).toContain('code_challenge')
    await page.getByRole('button', { name: 'Copy details' }).click()
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/Code: \w+\nRequest ID: /)
  })
}
