import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { Credential } from '../../src/credential/credential.ts'
import type { CredentialId, Scope } from '../../src/credential/ids.ts'
import { readCredentialHeader } from '../../src/credential/read.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import type { PublicKey } from '../../src/proof/keys.ts'
import { parseMultikey } from '../../src/proof/keys.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import { verify } from '../../src/verify/verify.ts'
import { newChain, showLink } from '../chain.ts'
import { runs } from '../runs.ts'
import {
  createData,
  createDemand,
  issue,
  NOW,
  newCredentialId,
  newParty,
  type Party,
  PlainSite,
  rawHeader,
  shown,
  trusted,
  trustedKey,
} from '../sample.ts'

let issuer: Party
let key: PublicKey
let document: JsonObject
let sample: Credential
beforeAll(async () => {
  issuer = await newParty()
  key = issuer.key.publicKey
  document = await issue(issuer)
  const read = readCredentialHeader(shown(document).header)
  if ('ok' in read) throw new Error(read.detail)
  sample = read.credential
})

const another = (): Credential => ({ ...sample, id: newCredentialId() })
/** Digests evenly distributed like SHA-256, but chosen by the test. */
const digestNumber = (n: number) => {
  let text = ''
  let state = Math.imul(n + 1, 0x9e3779b1)
  for (let i = 0; i < 32; i++) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + i
    text += String.fromCharCode((state >>> 11) & 0xff)
  }
  return text
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapBytes(): number {
  for (let n = 0; n < 2; n++) collectGarbage()
  return process.memoryUsage().heapUsed
}

/** How much memory each of the results keeps, and whatever else is kept because of it. */
async function keptBytes(count: number, make: () => Promise<unknown>): Promise<number> {
  const kept: unknown[] = []
  const before = heapBytes()
  while (kept.length < count) kept.push(await make())
  return (heapBytes() - before) / kept.length
}

describe('the memory of signatures', () => {
  test('gives back everything a credential says, and the key it was found good under', async () => {
    const memory = new SignatureCache()
    const chain = await newChain(issuer, 2)
    const read = readCredentialHeader(shown(chain.links[2] as JsonObject).header)
    if ('ok' in read) throw new Error(read.detail)
    const stored = memory.set('d'.repeat(32), read.credential, key, [])
    const found = memory.find('d'.repeat(32))
    expect(found).toBe(stored)
    expect(found?.key).toBe(key)
    expect(found).toMatchObject(read.credential)
    expect(memory.find('e'.repeat(32))).toBeUndefined()
  })

  // A service keeps the ids of verdicts for long: with the credential as it was read, each would
  // keep the text of its header.
  test('gives a first verdict its own copy of the credential, as it gives later ones', async () => {
    const signatures = new SignatureCache()
    const data = createData(new PlainSite(trusted(issuer)), { signatures })
    const judge = async (changes = {}) => {
      const verdict = await verify(shown(document), createDemand(), { ...data, ...changes })
      if (!verdict.ok || verdict.presented !== 'credential') throw new Error('it was not accepted')
      return verdict
    }
    const first = await judge()
    expect(first.credential).toBe(signatures.find(await signatures.digest(shown(document).header)))
    expect(await judge()).toEqual(first)
    expect(first).toMatchObject(await judge({ signatures: undefined }))
  })

  test('so the id of a verdict keeps no text of a header in memory', async () => {
    const signatures = new SignatureCache({ capacity: 8 })
    const data = createData(new PlainSite(trusted(issuer)), { signatures })
    const count = 1000
    const bytesOf = (toId: (header: string) => Promise<string>) =>
      keptBytes(count, async () => toId(shown(await issue(issuer)).header))
    const toVerdictId = async (header: string) => {
      const verdict = await verify({ header }, createDemand(), data)
      if (!verdict.ok) throw new Error(verdict.detail)
      return verdict.subject.credentialId
    }
    // Once before: what is compiled meanwhile takes memory, too.
    await bytesOf(toVerdictId)
    const ofVerdict = await bytesOf(toVerdictId)
    // Control: an id as it was read is a part of the text.
    const asRead = await bytesOf(async (header) => {
      const read = readCredentialHeader(header)
      if ('ok' in read) throw new Error(read.detail)
      return read.credential.id
    })
    expect(ofVerdict).toBeLessThan(400)
    expect(asRead).toBeGreaterThan(800)
  })

  test('nor does a list with one scope', async () => {
    const signatures = new SignatureCache({ capacity: 8 })
    const data = createData(new PlainSite(trusted(issuer)), { signatures })
    let n = 0
    const show = async (...more: string[]) => {
      const scope = [`orders:refund-${n++}`, ...more] as Scope[]
      const verdict = await verify(shown(await issue(issuer, { scope })), createDemand({ scope: [] }), data)
      if (!verdict.ok) throw new Error(verdict.detail)
    }
    await keptBytes(100, show)
    // The name of a longer list is a text of its own.
    const ofTwo = await keptBytes(200, () => show('orders:read'))
    expect(await keptBytes(200, show)).toBeLessThan(ofTwo + 200)
  })

  test('tells apart digests that differ in any one character', () => {
    const memory = new SignatureCache({ capacity: 8 })
    const digest = digestNumber(1)
    memory.set(digest, sample, key, [])
    for (let i = 0; i < 32; i++) {
      const near = digest.slice(0, i) + String.fromCharCode(digest.charCodeAt(i) ^ 1) + digest.slice(i + 1)
      expect(memory.find(near), `character ${i}`).toBeUndefined()
    }
    expect(memory.find(digest)?.id).toBe(sample.id)
  })

  test('keeps nearly as many as it has places for, and never more', () => {
    const memory = new SignatureCache({ capacity: 1024 })
    for (let n = 0; n < 800; n++) memory.set(digestNumber(n), another(), key, [])
    expect(memory.size).toBeGreaterThan(790)
    for (let n = 800; n < 5000; n++) memory.set(digestNumber(n), another(), key, [])
    expect(memory.size).toBeLessThanOrEqual(1024)
    expect(memory.size).toBeGreaterThan(1000)
    let found = 0
    for (let n = 0; n < 5000; n++) if (memory.find(digestNumber(n)) !== undefined) found++
    expect(found).toBe(memory.size)
  })

  test('keeps one spelling of a credential, so that many spellings displace no other credential', () => {
    const memory = new SignatureCache({ capacity: 64 })
    const others = Array.from({ length: 24 }, (_, n) => ({ digest: digestNumber(n), credential: another() }))
    for (const { digest, credential } of others) memory.set(digest, credential, key, [])
    const before = memory.size
    for (let n = 1000; n < 3000; n++) memory.set(digestNumber(n), sample, key, [])
    expect(memory.size).toBe(before + 1)
    expect(memory.find(digestNumber(2999))?.id).toBe(sample.id)
    expect(memory.find(digestNumber(2998))).toBeUndefined()
    for (const { digest } of others) expect(memory.find(digest)).toBeDefined()
  })

  test('keeps what is seen often when a flood of others comes', () => {
    const memory = new SignatureCache({ capacity: 8 })
    memory.set(digestNumber(0), sample, key, [])
    for (let n = 1; n < 1000; n++) {
      memory.set(digestNumber(n), another(), key, [])
      expect(memory.find(digestNumber(0))?.id, `after ${n}`).toBe(sample.id)
    }
  })

  test('replaces what it has under a digest', () => {
    const memory = new SignatureCache()
    const newer = parseMultikey(key.multikey) as PublicKey
    memory.set('d'.repeat(32), sample, key, [])
    memory.set('d'.repeat(32), sample, newer, [])
    expect(memory.size).toBe(1)
    expect(memory.find('d'.repeat(32))?.key).toBe(newer)
  })

  test('finds exactly what it counts, whatever comes in which order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 12 }), fc.boolean()), { maxLength: 300 }),
        (steps) => {
          const memory = new SignatureCache({ capacity: 16 })
          const credentials = Array.from({ length: 13 }, (_, n) => ({
            ...sample,
            id: `cred_number_${n}_of_the_sample` as CredentialId,
          }))
          const latest = new Map<number, CredentialId>()
          for (const [digest, which, look] of steps) {
            const credential = credentials[which] as Credential
            if (look) memory.find(digestNumber(digest))
            else {
              memory.set(digestNumber(digest), credential, key, [])
              latest.set(digest, credential.id)
              expect(memory.find(digestNumber(digest))?.id).toBe(credential.id)
            }
          }
          const found = [...latest].filter(([digest]) => memory.find(digestNumber(digest)) !== undefined)
          expect(found).toHaveLength(memory.size)
          for (const [digest, id] of found) expect(memory.find(digestNumber(digest))?.id).toBe(id)
          expect(memory.size).toBeLessThanOrEqual(16)
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('shares what many credentials have in common, and does not mix up what they have not', () => {
    const memory = new SignatureCache({ capacity: 16_384 })
    // More names than the cache interns.
    for (let n = 0; n < 5000; n++) {
      const credential = {
        ...another(),
        site: `site-${n}.example`,
        scope: [`s${n}` as Scope, 'x' as Scope],
        permissionId: undefined,
      }
      memory.set(digestNumber(n), credential, key, [])
    }
    const known = Array.from({ length: 5000 }, (_, n) => ({ n, found: memory.find(digestNumber(n)) })).filter(
      ({ found }) => found,
    )
    expect(known.length).toBeGreaterThan(4900)
    for (const { n, found } of known) {
      expect([found?.site, found?.scope, found?.permissionId]).toEqual([
        `site-${n}.example`,
        [`s${n}`, 'x'],
        undefined,
      ])
    }
    memory.set(digestNumber(9001), { ...another(), scope: ['a', 'b'] as Scope[] }, key, [])
    memory.set(digestNumber(9002), { ...another(), scope: ['a', 'b'] as Scope[] }, key, [])
    memory.set(digestNumber(9003), { ...another(), scope: ['ab'] as Scope[] }, key, [])
    expect(memory.find(digestNumber(9001))?.scope).toBe(memory.find(digestNumber(9002))?.scope)
    expect(memory.find(digestNumber(9003))?.scope).toEqual(['ab'])
    expect(memory.find(digestNumber(9001))?.issuer).toBe(memory.find(digestNumber(9003))?.issuer)
  })

  test('rejects a capacity that is none', () => {
    for (const capacity of [0, -1, 1.5, Number.NaN, 2 ** 24 + 1])
      expect(() => new SignatureCache({ capacity }), String(capacity)).toThrow(
        'capacity must be a whole number from 1 to 16,777,216',
      )
    expect(() => new SignatureCache({ capacity: 1 })).not.toThrow()
  })
})

describe('a remembered presentation', () => {
  const setUp = () => {
    const site = new PlainSite(trusted(issuer))
    const signatures = new SignatureCache()
    const set = vi.spyOn(signatures, 'set')
    return { site, signatures, data: createData(site, { signatures }), set }
  }

  test('gives the same verdict as the first time', async () => {
    const { data, set } = setUp()
    const first = await verify(shown(document), createDemand(), data)
    const second = await verify(shown(document), createDemand(), data)
    expect(first.ok).toBe(true)
    expect(second).toMatchObject(JSON.parse(JSON.stringify(first)))
    expect(set).toHaveBeenCalledTimes(1)
  })

  test('is asked again about time, site, scope, trust, revocation, freshness and possession', async () => {
    const { site, data } = setUp()
    const code = async (demand = createDemand(), known = data) => {
      const verdict = await verify(shown(document), demand, known)
      return verdict.ok ? 'allowed' : verdict.code
    }
    expect(await code()).toBe('allowed')
    expect(await code(createDemand({ nowMs: sample.validUntilMs }))).toBe('credential_expired')
    expect(await code(createDemand({ nowMs: sample.validFromMs - 10_001 }))).toBe('credential_not_yet_valid')
    expect(await code(createDemand({ scope: ['orders:refund' as never] }))).toBe('scope_insufficient')
    expect(await code(createDemand(), { ...data, ageMs: 30_001 })).toBe('revocation_view_stale')
    site.settings = { ...site.settings, holderProof: 'required' }
    expect(await code()).toBe('proof_required')
    site.settings = { ...site.settings, holderProof: 'optional', credentialTtlSecondsMax: 60 }
    expect(await code()).toBe('issuer_untrusted')
    site.settings = { ...site.settings, credentialTtlSecondsMax: undefined }
    site.siteId = 'other.example' as never
    expect(await code()).toBe('site_mismatch')
    site.siteId = sample.site as never
    site.credentials.add(sample.id)
    expect(await code()).toBe('credential_revoked')
    site.credentials.clear()
    site.issuers.set(issuer.did, trusted(issuer, { key: { status: 'compromised' } }))
    expect(await code()).toBe('issuer_untrusted')
    site.issuers.set(issuer.did, trusted(issuer, { key: { status: 'retired', changedAtMs: NOW - 5000 } }))
    expect(await code()).toBe('issuer_untrusted')
    site.issuers.clear()
    expect(await code()).toBe('issuer_untrusted')
    site.issuers.set(issuer.did, trusted(issuer))
    expect(await code()).toBe('allowed')
  })

  test('is checked again when the key in the list has been replaced, by the same or by another one', async () => {
    const { site, data, set } = setUp()
    const put = (publicKey: PublicKey) =>
      site.issuers.set(
        issuer.did,
        trusted(issuer, { keys: new Map([[issuer.method, trustedKey(publicKey)]]) }),
      )
    await verify(shown(document), createDemand(), data)
    put(parseMultikey(key.multikey) as PublicKey)
    expect(await verify(shown(document), createDemand(), data)).toMatchObject({ ok: true })
    expect(set).toHaveBeenCalledTimes(2)
    put((await newParty()).key.publicKey)
    expect(await verify(shown(document), createDemand(), data)).toMatchObject({
      code: 'credential_signature_invalid',
    })
    put((await newParty('P-256')).key.publicKey)
    expect(await verify(shown(document), createDemand(), data)).toMatchObject({
      code: 'credential_unsupported',
    })
    expect(set).toHaveBeenCalledTimes(2)
  })

  test('was never rejected for its signature: nothing bad is remembered', async () => {
    const { data, set } = setUp()
    const spoiled = { ...document, note: 'x' }
    for (let i = 0; i < 2; i++)
      expect(await verify(shown(spoiled), createDemand(), data)).toMatchObject({
        code: 'credential_signature_invalid',
      })
    expect(set).not.toHaveBeenCalled()
  })

  test('cannot be changed by its receiver', async () => {
    const { data } = setUp()
    await verify(shown(document), createDemand(), data)
    const verdict = await verify(shown(document), createDemand(), data)
    if (!verdict.ok || verdict.presented !== 'credential') throw new Error('rejected')
    expect(() => (verdict.subject.scope as unknown as string[]).push('admin')).toThrow(TypeError)
    expect(() => Object.assign(verdict.credential, { ppid: 'x' })).toThrow(TypeError)
    // What a verdict says of the holders is what the cache has.
    const stored = new SignatureCache().set('d'.repeat(32), sample, key, ['thumbprint'])
    expect(() => Object.assign(stored.holders, { length: 0 })).toThrow(TypeError)
  })

  test('is another one in another spelling', async () => {
    const { data, signatures, set } = setUp()
    await verify(shown(document), createDemand(), data)
    await verify(rawHeader(JSON.stringify(document, null, 1)), createDemand(), data)
    expect(set).toHaveBeenCalledTimes(2)
    expect(signatures.size).toBe(1)
  })

  test('of a holder still needs the holder', async () => {
    const { data } = setUp()
    const chain = await newChain(issuer, 0)
    const { presented, demand } = await showLink(chain)
    expect(await verify(presented, demand, data)).toMatchObject({ ok: true, holder: 'verified' })
    expect(await verify(presented, demand, data)).toMatchObject({ code: 'proof_replayed' })
    expect(await verify(presented, createDemand(), data)).toMatchObject({ code: 'proof_required' })
  })

  test('too long to be a credential is not even hashed', async () => {
    const { data } = setUp()
    const digest = vi.spyOn(data.signatures as SignatureCache, 'digest')
    expect(await verify({ header: 'A'.repeat(8193) }, createDemand(), data)).toMatchObject({
      code: 'header_too_large',
    })
    expect(digest).not.toHaveBeenCalled()
  })
})
