import { explain, type HolderRequest, holderRequestFrom, signRequest } from '@countersign/core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { presentationProblems } from '../../packages/core/src/contract/endpoint.ts'
import { newChain } from '../../packages/core/test/chain.ts'
import {
  createData,
  createDemand,
  createSite,
  edited,
  issue,
  NOW,
  newParty,
  type Party,
  type PlainSite,
  SITE,
  shown,
} from '../../packages/core/test/sample.ts'
import {
  expectAccessible,
  type Harness,
  hasChromium,
  openHarness,
  pictures,
  shareConsole,
} from './harness.ts'

const URL = `https://${SITE}/api/orders?page=2`
const AT = new Date(NOW).toISOString()

/** What is pasted, and what `explain` is asked about the same. */
interface Case {
  readonly header: string
  readonly request?: { readonly text: string; readonly holder: HolderRequest }
  readonly scope?: string
}

/** A request as it is on the wire, and as verifiers see it. */
async function toRequest(header: string, holder?: Party, path = '/api/orders?page=2') {
  const plain = holderRequestFrom('POST', URL, new Headers({ 'x-service-credential': header }), 'none')
  const fields = holder === undefined ? {} : await signRequest(plain, { key: holder.key, nowMs: NOW })
  const headers = new Headers({ 'x-service-credential': header, ...fields })
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${SITE}`,
    ...[...headers].map(([name, value]) => `${name}: ${value}`),
  ]
  const { scheme: _, ...sent } = holderRequestFrom('POST', `https://${SITE}${path}`, headers, 'none')
  return { text: `${lines.join('\r\n')}\r\n\r\n`, holder: sent }
}

describe.skipIf(!hasChromium)('the inspector', () => {
  let harness: Harness
  let issuer: Party
  let site: PlainSite
  beforeAll(async () => {
    harness = await openHarness()
    issuer = await newParty()
    await harness.operator.createSite({ site_id: SITE })
    await harness.operator.addIssuer({ site_id: SITE, issuer: issuer.did })
    site = createSite(issuer)
  })
  afterAll(() => harness?.close())

  const openShared = shareConsole(() => harness, { bypassCSP: true, isAlone: true })

  /** Its clock goes as usual, and can be moved. */
  async function openInspector(): Promise<Page> {
    const { page } = await openShared()
    await page.clock.install()
    await page.goto(`${harness.url}/console/sites/${SITE}/inspector`)
    await page.getByText('against entry').waitFor()
    return page
  }

  /** The checks that the page shows: name, result and code. */
  async function readChecks(page: Page): Promise<readonly (readonly [string, string, string | null])[]> {
    return page
      .locator('.explained li')
      .evaluateAll((all) =>
        all.map((each) => [
          each.getAttribute('data-check') ?? '',
          each.getAttribute('data-result') ?? '',
          each.getAttribute('data-code'),
        ]),
      )
  }

  /** The same from `explain`, in this process. */
  async function explainHere({ header, request, scope = '' }: Case) {
    const demand = createDemand({
      scope: scope === '' ? [] : ([scope] as never),
      ...(request === undefined
        ? {}
        : { request: request.holder, nonces: { consume: () => 'fresh' as const } }),
    })
    const { checks } = await explain({ header }, demand, createData(site))
    return checks.map(({ check, result, denial }) => [check, result, denial?.code ?? null] as const)
  }

  /** One case for each code. Only a whole request can lack a proof. */
  async function createCases(): Promise<Readonly<Record<string, Case>>> {
    const other = await newParty()
    const holder = await newParty()
    const credential = await issue(issuer)
    const revoked = await issue(issuer)
    const revokedId = String(revoked.id).split(':').at(-1) as string
    await harness.operator.revokeCredential({ credential_id: revokedId, site_id: SITE })
    site.credentials.add(revokedId)
    const { header: bound } = shown(await issue(issuer, { holderKey: holder.did }))
    const deep = (await newChain(issuer, 4)).links.at(-1)
    const wide = (
      await newChain(issuer, 1, (i, unsigned) => {
        if (i === 1) unsigned.credentialSubject.scope = ['orders:read', 'orders:delete']
      })
    ).links.at(-1)
    const signed = await toRequest(bound, holder)
    return {
      credential_malformed: { header: 'e30' },
      credential_unsupported: shown(edited(credential, (copy) => (copy.proof.cryptosuite = 'bbs-2023'))),
      delegation_too_deep: shown(deep as never),
      issuer_untrusted: shown(await issue(other)),
      credential_signature_invalid: shown(
        edited(credential, (copy) => (copy.credentialSubject.scope = ['orders:read'])),
      ),
      credential_not_yet_valid: shown(await issue(issuer, { validFromMs: NOW + 600_000 })),
      credential_expired: shown(await issue(issuer, { validUntilMs: NOW - 1 })),
      credential_revoked: shown(revoked),
      delegation_invalid: shown(wide as never),
      proof_required: { header: bound, request: await toRequest(bound) },
      proof_invalid: {
        header: bound,
        request: {
          text: signed.text.replace('/api/orders?page=2', '/api/orders?page=3'),
          holder: { ...signed.holder, query: '?page=3' },
        },
      },
      site_mismatch: shown(await issue(issuer, { siteId: 'other.example' })),
      scope_insufficient: { ...shown(credential), scope: 'orders:delete' },
    }
  }

  /** `explain` consumes no nonce, and the age of the data is a matter of time: see below. */
  const APART = ['proof_replayed', 'revocation_view_stale']

  test('T8: explains every code in the order of `explain`, and nothing leaves the page', {
    tags: 'long',
  }, async () => {
    const cases = await createCases()
    expect([...Object.keys(cases), ...APART].sort()).toEqual([...presentationProblems].sort())
    const page = await openInspector()
    const sent: string[] = []
    page.on('request', (request) => {
      sent.push(JSON.stringify([request.url(), request.headers(), request.postData()]))
    })
    const addressBefore = page.url()
    const lengthBefore = await page.evaluate('history.length')
    await page.getByLabel('At time').fill(AT)
    const pasted: string[] = []
    for (const [code, each] of Object.entries(cases)) {
      const text = each.request?.text ?? each.header
      pasted.push(text, each.header)
      await page.getByLabel('With scope').fill(each.scope ?? '')
      await page.getByLabel('Presented').fill(text)
      await page.locator('.outcome code', { hasText: code }).waitFor()
      const expected = (await explainHere(each)).map(([check, result, found]) =>
        // Without the request, the page does not guess about the proof of a holder.
        check === 'holder' && each.request === undefined && found === 'proof_required'
          ? [check, 'not_checked', null]
          : [check, result, found],
      )
      expect(await readChecks(page), code).toEqual(expected)
      const first = expected.find(([, result]) => result === 'denied')
      expect(first?.[2], code).toBe(code)
    }
    // Time passes, so that the page refreshes what it knows of the site.
    const sentBefore = sent.length
    await page.clock.fastForward(5_000)
    await expect.poll(() => sent.length).toBeGreaterThan(sentBefore)
    for (const text of pasted)
      for (let at = 0; at + 24 <= text.length; at += 24)
        expect(sent.filter((each) => each.includes(text.slice(at, at + 24)))).toEqual([])
    expect(page.url()).toBe(addressBefore)
    expect(await page.evaluate('history.length')).toBe(lengthBefore)
    const kept = (await page.evaluate(
      'JSON.stringify([localStorage, sessionStorage, history.state, document.cookie, navigation.entries().map(({ url }) => url)])',
    )) as string
    for (const text of pasted) expect(kept).not.toContain(text.slice(0, 24))
    await expectAccessible(page)
    await pictures(page, 'inspector')
  })

  test('accepts a signed request as curl -v prints it, and says what it cannot know', async () => {
    const holder = await newParty()
    const { header } = shown(await issue(issuer, { holderKey: holder.did }))
    const request = await toRequest(header, holder)
    const page = await openInspector()
    await page.getByLabel('At time').fill(AT)
    await page.getByLabel('Presented').fill(header)
    await page.getByRole('heading', { name: 'Accepted, if the holder signs the request' }).waitFor()
    expect(await page.locator('.outcome .mark').getAttribute('class')).toBe('mark soon')
    const curl = [
      '* Connected to shop.example',
      ...request.text.split('\r\n').map((line) => `> ${line}`),
      '< HTTP/1.1 200 OK',
    ]
    await page.getByLabel('Presented').fill(curl.join('\n'))
    await page.getByRole('heading', { name: 'Accepted', exact: true }).waitFor()
    expect(await page.locator('.outcome .mark').getAttribute('class')).toBe('mark good')
    // A nonce is used once, and only verifiers know which ones were.
    expect(await page.locator('[data-check="holder"] p').textContent()).toContain('proof_replayed')
    expect(await readChecks(page)).toEqual(await explainHere({ header, request }))

    await page.getByLabel('Presented').fill(`Authorization: Bearer svc_at_${'a'.repeat(49)}`)
    await page.getByRole('heading', { name: /^Not known: only the service knows/ }).waitFor()
    expect(await page.locator('.outcome .mark.good').count()).toBe(0)
    await page.getByLabel('Presented').fill('GET / HTTP/1.1\nHost: shop.example\n\n')
    await page.locator('.outcome code', { hasText: 'credential_missing' }).waitFor()
    const jwt = [{ alg: 'ES256', kid: 'k' }, { iss: 'https://idp.example' }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    await page.getByLabel('Presented').fill(`${jwt}.c2ln`)
    await page.locator('.outcome code', { hasText: 'token_invalid' }).waitFor()
    await page.getByLabel('Presented').fill(`svc_sk_${'a'.repeat(49)}`)
    await page.getByRole('heading', { name: /This is an API key/ }).waitFor()
  })

  test('T8: when the service is away, the data becomes stale and nothing is accepted', async () => {
    const page = await openInspector()
    await page.getByLabel('At time').fill(AT)
    await page.getByLabel('Presented').fill(shown(await issue(issuer)).header)
    await page.getByRole('heading', { name: 'Accepted', exact: true }).waitFor()
    await page.route('**/console/api/**', (route) => route.abort())
    await page.clock.fastForward(25_000)
    expect(await page.getByRole('heading', { name: 'Accepted', exact: true }).count()).toBe(1)
    await page.clock.fastForward(10_000)
    await page.locator('.outcome code', { hasText: 'revocation_view_stale' }).waitFor()
    expect((await readChecks(page))[0]).toEqual(['freshness', 'denied', 'revocation_view_stale'])
    await page.unroute('**/console/api/**')
  })
})
