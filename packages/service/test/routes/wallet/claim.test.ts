import { randomBytes } from 'node:crypto'
import { didKey, generatePrivateKey } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { openHosted } from '../../hosted.ts'
import { keyOf } from '../../node.ts'
import { NOW, newParty, type Party } from '../../party.ts'
import { forEachSharedStore } from '../../stores.ts'

type Hosted = Awaited<ReturnType<typeof openHosted>>

const offerOf = async ({ node, A }: Hosted, more: object = {}) => {
  const body = { site_id: A, user_ref: 'user-1', scope: ['orders:read'], ...more }
  const { status, body: answer } = await node.ask('create_offer', { caller: keyOf(A), body })
  expect(status).toBe(201)
  return String(answer.offer_url)
}
const codeOf = (url: string) => url.slice(url.indexOf('#offer=') + '#offer='.length)

/** As the wallet page sends it. */
const claim = async (
  hosted: Hosted,
  offer: string,
  holder: Party,
  more: { headers?: object; signer?: Party; body?: object } = {},
) => {
  const json = { offer, holder_key: holder.did, ...more.body }
  const browser = hosted.browser()
  const proof = await browser.proof('/wallet/claim', json, more.signer ?? holder)
  return browser.post('/wallet/claim', { json, headers: { ...proof, ...more.headers } })
}

forEachSharedStore('offers', (open) => {
  describe('POST /api/wallet/offers', () => {
    it('201 with a link whose code no server sees, and how long it works', async () => {
      const hosted = await openHosted(open())
      const { node, A, baseUrl } = hosted
      const body = { site_id: A, user_ref: 'user-1', scope: ['orders:read'] }
      const { status, body: answer } = await node.ask('create_offer', { caller: keyOf(A), body })
      expect([status, answer.expires_in]).toEqual([201, 900])
      expect(answer.offer_url).toMatch(new RegExp(`^${baseUrl}/wallet#offer=[A-Za-z0-9_-]{43}$`))
    })

    it('400, 403 and 422 for what could not be issued either', async () => {
      const hosted = await openHosted(open(), { credentialTtlSecondsMax: 3600 })
      const { node, A, B } = hosted
      const good = { site_id: A, user_ref: 'user-1', scope: ['orders:read'] }
      const ask = (body: object, caller = keyOf(A)) => node.ask('create_offer', { caller, body })
      expect((await ask({ ...good, site_id: B })).code).toBe('api_key_forbidden')
      expect((await ask({ ...good, site_id: 'nowhere.example' })).code).toBe('api_key_forbidden')
      expect((await ask({ ...good, ttl_seconds: 3601 })).code).toBe('ttl_out_of_range')
      for (const more of [
        { scope: [] },
        { ppid: 'did:service:ppid_aaaaaaaa' },
        { user_ref: undefined },
        { holder_key: 'x' },
      ]) {
        expect((await ask({ ...good, ...more })).code, JSON.stringify(more)).toBe('validation_failed')
      }
    })
  })

  describe('POST /wallet/claim', () => {
    it('201 with a credential that is bound to the key, works with it, and is known at once', {
      tags: 'long',
    }, async () => {
      const hosted = await openHosted(open())
      const { node, A, opened } = hosted
      const holder = await newParty()
      const { status, json } = await claim(
        hosted,
        codeOf(await offerOf(hosted, { permission_id: 'perm_x', ttl_seconds: 600 })),
        holder,
      )
      expect(status).toBe(201)
      const { credential } = json as {
        credential: { id: string; credentialSubject: Record<string, unknown> }
      }
      expect(credential.credentialSubject).toMatchObject({
        site_id: A,
        scope: ['orders:read'],
        permission_id: 'perm_x',
        holder_key: holder.did,
      })
      const id = credential.id.replace('did:service:', '')
      expect((await node.status(id)).body.statuses[id].status).toBe('active')
      const { browser, state } = await opened()
      expect((await browser.present(state, credential)).json.code).toBe('proof_required')
      expect((await browser.present(state, credential, { holder })).status).toBe(200)
    })

    it('gives the same user the same name however they are offered something, and another site another', async () => {
      const hosted = await openHosted(open())
      const ppids = []
      for (let i = 0; i < 2; i++) {
        const { json } = await claim(hosted, codeOf(await offerOf(hosted)), await newParty())
        ppids.push(json.credential.credentialSubject.id)
      }
      const other = await hosted.node.ask('create_offer', {
        caller: keyOf(hosted.B),
        body: { site_id: hosted.B, user_ref: 'user-1', scope: ['orders:read'] },
      })
      const { json } = await claim(hosted, codeOf(other.body.offer_url), await newParty())
      expect(ppids[0]).toBe(ppids[1])
      expect(json.credential.credentialSubject.id).not.toBe(ppids[0])
    })

    it('A2: 201 with the same credential for the same key until the offer expires; 400 code_invalid for another key', async () => {
      const hosted = await openHosted(open())
      const { store, A, clock } = hosted
      const [holder, thief] = [await newParty(), await newParty()]
      const code = codeOf(await offerOf(hosted))
      const first = await claim(hosted, code, holder)
      expect((await claim(hosted, code, thief)).json.code).toBe('code_invalid')
      clock.wallMs = NOW + 899_000
      const again = await claim(hosted, code, holder)
      expect([again.status, again.json]).toEqual([201, first.json])
      // The claim is still the holder's: no caller gets the answer without a signature by that key.
      expect((await claim(hosted, code, holder, { signer: thief })).json.code).toBe('proof_invalid')
      const plain = await hosted
        .browser()
        .post('/wallet/claim', { json: { offer: code, holder_key: holder.did } })
      expect(plain.json.code).toBe('proof_required')
      expect(await store.credentials(A, {}, { after: undefined, limit: 10 })).toHaveLength(1)
      clock.wallMs = NOW + 900_000
      expect((await claim(hosted, code, holder)).json.code).toBe('code_invalid')
    })

    it('A2: exactly one credential for one key that claims many times at once', {
      tags: 'long',
    }, async () => {
      const hosted = await openHosted(open())
      const holder = await newParty()
      const code = codeOf(await offerOf(hosted))
      const answers = await Promise.all(Array.from({ length: 30 }, () => claim(hosted, code, holder)))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
      expect(new Set(answers.map(({ json }) => json.credential.id)).size).toBe(1)
      expect(await hosted.store.credentials(hosted.A, {}, { after: undefined, limit: 10 })).toHaveLength(1)
    })

    it('A2: 401 credential_revoked for a repeated claim when the user was revoked since', async () => {
      const hosted = await openHosted(open())
      const holder = await newParty()
      const code = codeOf(await offerOf(hosted))
      const { json } = await claim(hosted, code, holder)
      await hosted.node.revokeUser(json.credential.credentialSubject.id)
      expect((await claim(hosted, code, holder)).json.code).toBe('credential_revoked')
    })

    it('S7: looks the offer up before the signature, and the signature before the key', async () => {
      const hosted = await openHosted(open())
      const code = codeOf(await offerOf(hosted))
      const [unknown, weak] = [
        randomBytes(32).toString('base64url'),
        'did:key:z6MkeTG3bFFSLYVU7VqhgZxqr6YzpaGrQtFMh1uvqGy1vDnP',
      ]
      const plain = async (offer: string) =>
        (await hosted.browser().post('/wallet/claim', { json: { offer, holder_key: weak } })).json.code
      expect([await plain(unknown), await plain(code)]).toEqual(['code_invalid', 'proof_required'])
      const consumed: string[] = []
      const { nonces } = hosted.node.deps
      const consume: typeof nonces.consume = (use) => {
        consumed.push(use.nonce)
        return nonces.consume(use)
      }
      Object.assign(hosted.node.deps, { nonces: { consume } })
      const holder = await newParty()
      await claim(hosted, unknown, holder)
      expect(consumed).toEqual([])
      await claim(hosted, code, holder)
      expect(consumed).toHaveLength(1)
    })

    it('400 code_invalid after its end, and for a code that was never given out', async () => {
      const hosted = await openHosted(open())
      const holder = await newParty()
      expect((await claim(hosted, randomBytes(32).toString('base64url'), holder)).json.code).toBe(
        'code_invalid',
      )
      expect((await claim(hosted, 'short', holder)).json.code).toBe('code_invalid')
      const late = codeOf(await offerOf(hosted))
      hosted.clock.wallMs = NOW + 900_000
      expect((await claim(hosted, late, holder)).json.code).toBe('code_invalid')
    })

    it('400 code_invalid once the site no longer gives out what was offered', async () => {
      const hosted = await openHosted(open())
      const { store, node, A } = hosted
      const long = codeOf(await offerOf(hosted, { ttl_seconds: 86_400 }))
      const short = codeOf(await offerOf(hosted, { ttl_seconds: 60 }))
      const changed = await store.changeSite(
        A,
        { credentialTtlSecondsMax: 3600 },
        { actor: 'operator', atMs: NOW, requestId: undefined },
      )
      await node.deps.views.waitFor(changed?.position ?? 0)
      expect((await claim(hosted, long, await newParty())).json.code).toBe('code_invalid')
      expect((await claim(hosted, short, await newParty())).status).toBe(201)
    })

    it('401 credential_revoked when the user was revoked since, also when they were reinstated', async () => {
      const hosted = await openHosted(open())
      const { node } = hosted
      const first = await claim(hosted, codeOf(await offerOf(hosted)), await newParty())
      const ppid = first.json.credential.credentialSubject.id
      const [one, two] = [codeOf(await offerOf(hosted)), codeOf(await offerOf(hosted))]
      await node.revokeUser(ppid)
      expect((await claim(hosted, one, await newParty())).json.code).toBe('credential_revoked')
      await node.reinstate(ppid)
      expect((await claim(hosted, two, await newParty())).json.code).toBe('credential_revoked')
      // Offered after the reinstatement, it is a new one.
      expect((await claim(hosted, codeOf(await offerOf(hosted)), await newParty())).status).toBe(201)
    })

    it('401 without a signature by that very key, so that a caller cannot bind a credential to the key of another', async () => {
      const hosted = await openHosted(open())
      const [holder, other] = [await newParty(), await newParty()]
      const code = codeOf(await offerOf(hosted))
      const plain = await hosted
        .browser()
        .post('/wallet/claim', { json: { offer: code, holder_key: holder.did } })
      expect(plain.json.code).toBe('proof_required')
      expect((await claim(hosted, code, holder, { signer: other })).json.code).toBe('proof_invalid')
      expect((await claim(hosted, code, holder)).status).toBe(201)
    })

    it('401 proof_replayed for a request that was sent before', async () => {
      const hosted = await openHosted(open())
      const holder = await newParty()
      const json = { offer: codeOf(await offerOf(hosted)), holder_key: holder.did }
      const browser = hosted.browser()
      const headers = await browser.proof('/wallet/claim', json, holder)
      expect((await browser.post('/wallet/claim', { json, headers })).status).toBe(201)
      expect((await browser.post('/wallet/claim', { json, headers })).json.code).toBe('proof_replayed')
    })

    it('A213: 403 from a page of another origin', async () => {
      const hosted = await openHosted(open())
      const code = codeOf(await offerOf(hosted))
      for (const headers of [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
      ]) {
        expect((await claim(hosted, code, await newParty(), { headers })).json.code).toBe('csrf_invalid')
      }
    })

    it('takes a P-256 key as well, and a client that is no browser', async () => {
      const hosted = await openHosted(open())
      const key = await generatePrivateKey('P-256', { extractable: true })
      const holder: Party = { key, did: didKey(key.publicKey), method: '', keyId: '' }
      const headers = { origin: undefined, 'sec-fetch-site': undefined }
      expect((await claim(hosted, codeOf(await offerOf(hosted)), holder, { headers })).status).toBe(201)
    })

    it('422 for a key that is none or too weak (A050), 422 for unknown members', async () => {
      const hosted = await openHosted(open())
      const holder = await newParty()
      const code = codeOf(await offerOf(hosted))
      const weak = 'did:key:z6MkeTG3bFFSLYVU7VqhgZxqr6YzpaGrQtFMh1uvqGy1vDnP'
      for (const holder_key of ['x', 'did:web:a.example', weak]) {
        const { status, json } = await claim(hosted, code, holder, { body: { holder_key } })
        expect([status, json.code], holder_key).toEqual([422, 'key_rejected'])
      }
      expect((await claim(hosted, code, holder, { body: { scope: ['orders:admin'] } })).json.code).toBe(
        'validation_failed',
      )
    })

    it('is claimed by one of many keys at once', { tags: 'long' }, async () => {
      const hosted = await openHosted(open())
      const code = codeOf(await offerOf(hosted))
      const answers = await Promise.all(
        Array.from({ length: 30 }, async () => claim(hosted, code, await newParty())),
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    })

    it('leaves audit rows that name who offered, and neither code nor key is logged', async () => {
      const hosted = await openHosted(open())
      const { store, A, logged } = hosted
      const code = codeOf(await offerOf(hosted))
      await claim(hosted, code, await newParty())
      const rows = await store.auditRows(A, { after: undefined, limit: 10 })
      expect(
        rows
          .filter(({ action }) => /^(?:offer|credential)/.test(action))
          .map(({ action, context }) => [action, context.actor]),
      ).toEqual([
        ['credential.issue', `key:key_${A}`],
        ['offer.create', `key:key_${A}`],
      ])
      expect(logged.join('\n') + JSON.stringify(rows)).not.toContain(code)
    })
  })

  describe('POST /wallet/offer', () => {
    const look = (hosted: Hosted, offer: string, headers = {}) =>
      hosted.browser().post('/wallet/offer', { json: { offer }, headers })

    it('A4: 200 with what is offered, by whom and for how long, and does not use it up', async () => {
      const hosted = await openHosted(open(), { name: 'The shop', credentialTtlSecondsMax: 86_400 })
      const { A, keys } = hosted
      const code = codeOf(await offerOf(hosted))
      const seen = await look(hosted, code)
      expect([seen.status, seen.json]).toEqual([
        200,
        {
          site_id: A,
          name: 'The shop',
          scope: ['orders:read'],
          ttl_seconds: 86_400,
          issuer: keys.issuerDid,
          expires_at: new Date(NOW + 900_000).toISOString().replace('.000', ''),
          site_url: 'https://shop.example',
          logo_path: null,
          accent: null,
          support_url: null,
          privacy_url: null,
        },
      ])
      expect((await look(hosted, code)).json).toEqual(seen.json)
      expect((await claim(hosted, code, await newParty())).status).toBe(201)
    })

    it('A4: 400 code_invalid, all alike, for an offer that is unknown, expired or claimed; 401 when its user was revoked', async () => {
      const hosted = await openHosted(open())
      const [used, killed, late] = [
        codeOf(await offerOf(hosted)),
        codeOf(await offerOf(hosted)),
        codeOf(await offerOf(hosted)),
      ]
      const { json } = await claim(hosted, used, await newParty())
      const answers = [await look(hosted, used), await look(hosted, randomBytes(32).toString('base64url'))]
      hosted.clock.wallMs = NOW + 900_000
      answers.push(await look(hosted, late))
      hosted.clock.wallMs = NOW
      const said = answers.map(({ status, json: { request_id, ...body } }) => ({ status, ...body }))
      expect(said).toEqual(said.map(() => expect.objectContaining({ status: 400, code: 'code_invalid' })))
      expect(new Set(said.map((one) => JSON.stringify(one))).size).toBe(1)
      await hosted.node.revokeUser(json.credential.credentialSubject.id)
      expect((await look(hosted, killed)).json.code).toBe('credential_revoked')
    })

    it('A4: is for our own page only, and the code is in no log', async () => {
      const hosted = await openHosted(open())
      const code = codeOf(await offerOf(hosted))
      expect((await look(hosted, code, { origin: 'https://evil.example' })).json.code).toBe('csrf_invalid')
      expect((await look(hosted, code)).status).toBe(200)
      expect(hosted.logged.join('\n')).not.toContain(code)
    })
  })

  it('GET /wallet is a page that runs nothing but its own script, for every visitor', async () => {
    const { browser } = await openHosted(open())
    const page = await browser().get('/wallet')
    expect([page.status, page.headers['content-type'], page.headers['set-cookie']]).toEqual([
      200,
      'text/html; charset=utf-8',
      undefined,
    ])
    expect(page.headers['content-security-policy']).toContain("script-src 'self'; connect-src 'self'")
    expect(page.headers['content-security-policy']).toContain("form-action 'none'; frame-ancestors 'none'")
    expect(page.text).toContain('Stored in this browser only.')
  })
})
