import { signRequest } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import { type Ask, begin as beginAt, keyOf, openNode, operator, type TestNode } from '../../../node.ts'
import { type Made, newParty, type Party } from '../../../party.ts'
import { forEachSharedStore } from '../../../stores.ts'

forEachSharedStore('GET /api/auth/verify', (open) => {
  const begin = () => beginAt(open())
  const verify = (node: TestNode, fields: Record<string, string>, more: Ask = {}) =>
    node.ask('forward_auth', { caller: keyOf(node.home), fields, ...more })
  const shown = ({ header }: Made) => ({ 'x-service-credential': header })

  it('accepts a valid credential and names its user', async () => {
    const { node, A, issued } = await begin()
    const credential = await issued()
    const { status, headers, body } = await verify(node, shown(credential), {
      query: '?scope=orders:read&scope=orders:write',
    })
    expect([status, body]).toEqual([200, undefined])
    expect(headers).toMatchObject({
      'x-service-subject': credential.ppid,
      'x-service-site': A,
      'x-service-scope': 'orders:read orders:write',
      'x-service-credential-id': credential.id,
    })
  })

  it('lets a bearer token through', async () => {
    const { node, issued } = await begin()
    const { document, id } = await issued()
    const { headers } = await verify(node, { authorization: `Bearer ${await node.tokenFor(document)}` })
    expect(headers['x-service-credential-id']).toBe(id)
  })

  it('the site is that of the key, whatever the proxy or its caller says', async () => {
    const { node, B, issued } = await begin()
    expect((await verify(node, shown(await issued()), { caller: keyOf(B) })).code).toBe('site_mismatch')
    expect((await verify(node, shown(await issued()), { caller: operator })).code).toBe('api_key_forbidden')
  })

  it('refuses for want of scope, credential or trust', async () => {
    const { node, issued } = await begin()
    expect((await verify(node, shown(await issued()), { query: '?scope=orders:admin' })).code).toBe(
      'scope_insufficient',
    )
    expect((await verify(node, {})).code).toBe('credential_missing')
    expect((await verify(node, shown(await issued({}, await newParty())))).code).toBe('issuer_untrusted')
  })

  describe('with a holder proof', () => {
    const original = { method: 'POST', authority: 'shop.example', path: '/orders', query: '?a=1&b=2' }
    const proof = async (
      holder: Party,
      { header }: Made,
      nowMs: number,
      changes: { body?: Uint8Array; method?: string; authority?: string } = {},
    ) => {
      const lines = (name: string) => (name === 'x-service-credential' ? [header] : undefined)
      return {
        'x-service-credential': header,
        ...(await signRequest(
          { ...original, body: 'none', ...changes, header: lines },
          { key: holder.key, nowMs },
        )),
      } as Record<string, string>
    }
    const families = ['x-original', 'x-forwarded'] as const
    const told = (family: string, changes: Partial<typeof original> = {}) => {
      const { method, authority, path, query } = { ...original, ...changes }
      return { [`${family}-method`]: method, [`${family}-host`]: authority, [`${family}-uri`]: path + query }
    }
    /** A site whose callers use `shop.example`, with a credential that is bound to a key. */
    const bound = async (hosts: readonly string[] | null = ['shop.example']) => {
      const begun = await begin()
      await begun.store.changeSite(
        begun.A,
        { hosts },
        { actor: 'operator', atMs: begun.node.clock.nowMs(), requestId: undefined },
      )
      const holder = await newParty()
      const credential = await begun.issued({ holderKey: holder.did })
      const fields = (changes: Parameters<typeof proof>[3] = {}) =>
        proof(holder, credential, begun.node.clock.wallMs, changes)
      return { ...begun, holder, credential, fields }
    }

    describe('while the store reads the hosts of the site', () => {
      /** `meanwhile` happens, and is acknowledged, after the guard has accepted the caller. */
      const reading = async (
        meanwhile: (begun: Awaited<ReturnType<typeof bound>>) => Promise<unknown> | undefined,
      ) => {
        const begun = await bound()
        const { node, store, fields } = begun
        const shown = { ...(await fields()), ...told('x-forwarded') }
        const { site } = store
        let reads = 0
        store.site = async (siteId) => {
          reads++
          store.site = site
          await meanwhile(begun)
          return site(siteId)
        }
        const counted: unknown[] = []
        node.deps.meters.verdict = (...verdict) => void counted.push(verdict.at(2))
        const answer = await verify(node, shown)
        expect(reads).toBe(1)
        expect(counted).toEqual([answer.code ?? 'allowed'])
        return answer
      }

      it('accepts when nothing has happened', async () => {
        expect((await reading(async () => {})).status).toBe(200)
      })
      it('I-1: rejects a caller whose credential or user has been revoked', async () => {
        const codes = [
          (await reading(({ node, credential }) => node.revokeCredential(credential.id))).code,
          (await reading(({ node, credential }) => node.revokeUser(credential.ppid))).code,
        ]
        expect(codes).toEqual(['credential_revoked', 'credential_revoked'])
      })
      it('I-12: rejects a credential that has expired', async () => {
        expect((await reading(({ node }) => node.later(3_600_000))).code).toBe('credential_expired')
      })
      it('I-3: rejects every caller when the node no longer trusts its log', async () => {
        const answer = await reading(async ({ node }) => node.deps.views.suspect('entries are missing'))
        expect(answer.code).toBe('revocation_view_stale')
      })
    })

    for (const family of families) {
      it(`checks it against the original request in ${family}-*, and says that it has not seen the body`, async () => {
        const { node, fields } = await bound()
        const { status, headers } = await verify(node, { ...(await fields()), ...told(family) })
        expect([status, headers['x-service-body']]).toEqual([200, 'unchecked'])
        const withBody = await fields({ body: new TextEncoder().encode('{}') })
        expect((await verify(node, { ...withBody, ...told(family) })).status).toBe(200)
      })

      it(`A104: refuses a proof of another request than ${family}-* tells of`, async () => {
        const { node, fields } = await bound()
        for (const changes of [
          { method: 'GET' },
          { authority: 'evil.example' },
          { path: '/admin' },
          { query: '?b=2&a=1' },
        ]) {
          expect((await verify(node, { ...(await fields()), ...told(family, changes) })).code).toBe(
            'proof_invalid',
          )
        }
      })
    }

    describe('S8: the host', () => {
      const at = async (begun: Awaited<ReturnType<typeof bound>>, authority: string) => {
        const { node, holder, credential } = begun
        const fields = await proof(holder, credential, node.clock.wallMs, { authority })
        return verify(node, { ...fields, ...told('x-original', { authority }) })
      }

      it('is one that the site has configured, port for port; any other is proof_invalid with words for the operator', async () => {
        const begun = await bound(['shop.example', 'api.shop.example:8443'])
        for (const authority of ['shop.example', 'shop.example:443', 'api.shop.example:8443'])
          expect((await at(begun, authority)).status).toBe(200)
        for (const authority of [
          'evil.example',
          'evil.shop.example',
          'api.shop.example',
          'shop.example:8443',
          'localhost:3000',
          '127.0.0.1:4444',
          begun.A,
        ]) {
          const answer = await at(begun, authority)
          expect([answer.code, answer.body.detail]).toEqual([
            'proof_invalid',
            expect.stringContaining(`is for the host ${authority}, which is not a host of`),
          ])
        }
      })

      it('is the name of the site by default', async () => {
        const begun = await bound(null)
        expect((await at(begun, begun.A)).status).toBe(200)
        for (const authority of ['evil.example', `evil.${begun.A}`, '127.0.0.1:4444', 'localhost'])
          expect((await at(begun, authority)).code).toBe('proof_invalid')
        // The control arm: what decides is the setting.
        await begun.store.changeSite(
          begun.A,
          { hosts: ['evil.example'] },
          { actor: 'operator', atMs: begun.node.clock.nowMs(), requestId: undefined },
        )
        expect((await at(begun, 'evil.example')).status).toBe(200)
        expect((await at(begun, begun.A)).code).toBe('proof_invalid')
      })

      it('does not matter to a credential that is not bound', async () => {
        const { node, issued } = await bound()
        expect(
          (
            await verify(node, {
              ...shown(await issued()),
              ...told('x-original', { authority: 'evil.example' }),
            })
          ).status,
        ).toBe(200)
      })
    })

    it('refuses when the proxy does not tell of the request, or only of a part', async () => {
      const { node, fields } = await bound()
      expect((await verify(node, await fields())).code).toBe('proof_required')
      const { 'x-original-host': _, ...part } = told('x-original') as Record<string, string>
      expect((await verify(node, { ...(await fields()), ...part })).code).toBe('proof_required')
    })

    it('refuses when a client adds the other family of headers through its proxy', async () => {
      const { node, fields } = await bound()
      const forged = {
        ...(await fields()),
        ...told('x-forwarded', { path: '/admin', query: '' }),
        ...told('x-original'),
      }
      expect((await verify(node, forged)).code).toBe('proof_required')
    })

    it('wants the digest covered when there is a body', async () => {
      const { node, fields } = await bound()
      const get = { ...(await fields({ method: 'GET' })), ...told('x-original', { method: 'GET' }) }
      // The proxy must ask without the body, and without its length.
      expect((await verify(node, { ...get, 'content-length': '5' })).code).toBe('unsupported_media_type')
      expect((await verify(node, get)).headers['x-service-body']).toBe('unchecked')
      const { 'content-digest': _, ...undigested } = await fields()
      expect((await verify(node, { ...undigested, ...told('x-original') })).code).toBe('proof_invalid')
    })
  })

  describe('I-4, A231: min_seq', () => {
    it('is answered from a view at least that new, through any node', async () => {
      const { node, store, A, issued } = await begin()
      const other = await openNode(store, A)
      for (let i = 0; i < 10; i++) {
        const credential = await issued()
        expect((await verify(other, shown(credential))).status).toBe(200)
        const { body } = await node.revokeCredential(credential.id)
        const answer = await verify(other, shown(credential), { query: `?min_seq=${body.epoch}.${body.seq}` })
        expect(answer.code).toBe('credential_revoked')
      }
    })

    it('is 503 when the view does not get there', async () => {
      const { store, A, issued } = await begin()
      const node = await openNode(store, A, { waitMsMax: 20 })
      const fields = shown(await issued())
      for (const min of [`${store.epoch}.99`, 'another0.1']) {
        expect((await verify(node, fields, { query: `?min_seq=${min}` })).code).toBe('revocation_view_stale')
      }
      expect((await verify(node, fields, { query: '?min_seq=nonsense' })).code).toBe('cursor_malformed')
    })
  })
})
