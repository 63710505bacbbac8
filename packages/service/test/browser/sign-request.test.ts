import {
  checkHolderProof,
  credentialHeader as coreHeader,
  findKeyFault,
  type HolderRequest,
  type PublicKey,
  parseDidKey,
} from '@countersign/core'
import { base58 } from '@scure/base'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/browser/base58.ts'
import { createHolderKey } from '../../src/browser/holder-key.ts'
import { createProofFields, credentialHeader, type PlainRequest } from '../../src/browser/sign-request.ts'
import { NOW } from '../party.ts'

/** The request as the service sees it. */
function seenAs(
  { method, url, body }: PlainRequest,
  fields: Readonly<Record<string, string>>,
): HolderRequest {
  const header = (name: string) => (fields[name] === undefined ? undefined : [fields[name]])
  return {
    method,
    authority: url.host,
    path: url.pathname,
    query: url.search,
    header,
    body: new TextEncoder().encode(body),
  }
}

describe('the signature of a page', () => {
  const sent: PlainRequest = {
    method: 'POST',
    url: new URL('https://id.example/auth/present'),
    body: '{"state":"x"}',
  }
  const check = async (
    request: PlainRequest,
    changes: Partial<HolderRequest> = {},
    nowMs = NOW,
    credentialHeaderSent = false,
  ) => {
    const key = await createHolderKey()
    const fields = {
      ...(await createProofFields(request, key, NOW)),
      ...(request.credential && { 'x-service-credential': request.credential }),
    }
    const expected = {
      holderKey: parseDidKey(key.did) as PublicKey,
      holderDid: key.did,
      nowMs,
      credentialHeaderSent,
    }
    return checkHolderProof({ ...seenAs(request, fields), ...changes }, expected)
  }

  it('is what the core takes for one, with and without a credential header, a query, a port', async () => {
    expect(await check(sent)).toMatchObject({ ok: true, bodyChecked: true })
    expect(await check({ ...sent, url: new URL('http://127.0.0.1:8787/api/x?a=b%20c&d') })).toMatchObject({
      ok: true,
    })
    expect(await check({ ...sent, credential: 'abc_-' }, {}, NOW, true)).toMatchObject({ ok: true })
    expect(await check({ ...sent, body: '{"ü":"\u{1F511}"}' })).toMatchObject({ ok: true })
  })

  it('holds for nothing else', async () => {
    for (const changes of [
      { method: 'PUT' },
      { authority: 'evil.example' },
      { path: '/auth/other' },
      { query: '?x' },
      { body: new Uint8Array([1]) },
    ]) {
      expect(await check(sent, changes)).toMatchObject({ ok: false, code: 'proof_invalid' })
    }
    expect(await check(sent, {}, NOW + 61_001)).toMatchObject({ code: 'proof_invalid' })
  })

  it('has another nonce each time', async () => {
    const key = await createHolderKey()
    const inputs = await Promise.all(
      Array.from({ length: 100 }, async () => (await createProofFields(sent, key, NOW))['signature-input']),
    )
    expect(new Set(inputs).size).toBe(100)
  })
})

describe('a key of a page', () => {
  it('cannot be extracted, and its name is one that the core reads', async () => {
    const { did, privateKey } = await createHolderKey()
    const key = parseDidKey(did)
    expect(key?.algorithm).toBe('Ed25519')
    expect(findKeyFault(key as PublicKey)).toBeUndefined()
    expect(privateKey.extractable).toBe(false)
    for (const form of ['jwk', 'pkcs8'] as const)
      await expect(crypto.subtle.exportKey(form as 'pkcs8', privateKey)).rejects.toThrow()
  })

  it('is written in base58 like any other', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => encodeBase58(bytes) === base58.encode(bytes)),
    )
    expect(encodeBase58(new Uint8Array([0, 0, 1]))).toBe('112')
    expect(encodeBase58(new Uint8Array(3))).toBe('111')
  })
})

describe('the header of a page', () => {
  it('is that of the core', () => {
    for (const document of [{ a: 1 }, { ü: '\u{1F511}' }, { long: 'x'.repeat(3000) }])
      expect(credentialHeader(document)).toBe(coreHeader(document))
  })
})
