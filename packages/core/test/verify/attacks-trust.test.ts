import { beforeAll, describe, expect, test } from 'vitest'
import type { DenialCode } from '../../src/credential/denial.ts'
import type { SiteId } from '../../src/credential/ids.ts'
import { decodeBase58, encodeBase58 } from '../../src/encoding/base58.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { signingInput } from '../../src/proof/check.ts'
import type { PublicKey } from '../../src/proof/keys.ts'
import { signDocument } from '../../src/proof/sign.ts'
import type { RevocationData } from '../../src/verify/revocation-data.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import { verify } from '../../src/verify/verify.ts'
import {
  at,
  createData,
  createDemand,
  type Editable,
  edited,
  issue,
  NOW,
  newParty,
  type Party,
  PlainSite,
  SITE,
  shown,
  signedWith,
  trusted,
  trustedKey,
} from '../sample.ts'

let issuer: Party
let other: Party
let attacker: Party
let site: PlainSite
let good: JsonObject
beforeAll(async () => {
  issuer = await newParty()
  other = await newParty()
  attacker = await newParty()
  site = new PlainSite(trusted(issuer), trusted(other))
  good = await issue(issuer)
})

const judge = async (
  document: JsonObject,
  data: RevocationData = createData(site),
  nowMs = NOW,
): Promise<DenialCode | 'allowed'> => {
  const verdict = await verify(shown(document), createDemand({ nowMs }), data)
  return verdict.ok ? 'allowed' : verdict.code
}
const spoiled = (edit: (c: Editable) => void) => judge(edited(good, edit))
const signed = async (edit: (c: Editable) => void, options?: Parameters<typeof signedWith>[2]) =>
  judge(await signedWith(issuer, edit, options))

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const findSignature = (document: JsonObject) =>
  decodeBase58((document as Editable).proof.proofValue.slice(1)) as Uint8Array
const withSignature = (bytes: Uint8Array) =>
  edited(good, (c) => (c.proof.proofValue = `z${encodeBase58(bytes)}`))

test('the credential that each attack spoils is good', async () => {
  expect(await judge(good)).toBe('allowed')
})

describe('group 3: signature and key', () => {
  test('A039 any one bit of the signature flipped', { tags: 'long' }, async () => {
    for (let bit = 0; bit < 512; bit++) {
      const bytes = Uint8Array.from(findSignature(good))
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(await judge(withSignature(bytes)), `bit ${bit}`).toBe('credential_signature_invalid')
    }
  })

  test('A039 a signature that is too short, too long or all zeros', async () => {
    const bytes = findSignature(good)
    for (const wrong of [
      bytes.slice(1),
      bytes.slice(0, 63),
      Uint8Array.of(...bytes, 0),
      new Uint8Array(64),
      new Uint8Array(1),
    ]) {
      expect(await judge(withSignature(wrong)), `${wrong.length} bytes`).toBe('credential_signature_invalid')
    }
  })

  test('A040 no proof', async () => {
    for (const proof of [undefined, null, [], {}, 'none', 0]) {
      expect(
        await spoiled((c) => (proof === undefined ? delete c.proof : (c.proof = proof))),
        JSON.stringify(proof),
      ).toBe('credential_malformed')
    }
  })

  test('A041 several proofs, or one in a list', async () => {
    const junk = { ...(good.proof as JsonObject), proofValue: `z${encodeBase58(new Uint8Array(64).fill(7))}` }
    for (const proof of [[good.proof, junk], [junk, good.proof], [good.proof]]) {
      expect(await spoiled((c) => (c.proof = proof))).toBe('credential_unsupported')
    }
  })

  test('A043 another cryptosuite, or one that does not fit the key', async () => {
    for (const cryptosuite of [
      'eddsa-rdfc-2022',
      'none',
      '',
      'EDDSA-JCS-2022',
      'bbs-2023',
      'toString',
      '__proto__',
    ]) {
      expect(await spoiled((c) => (c.proof.cryptosuite = cryptosuite)), cryptosuite).toBe(
        'credential_unsupported',
      )
    }
    expect(await spoiled((c) => (c.proof.cryptosuite = 'ecdsa-jcs-2019'))).toBe('credential_unsupported')
    expect(await spoiled((c) => delete c.proof.cryptosuite)).toBe('credential_malformed')
  })

  test('A044 another type of proof', async () => {
    for (const type of ['Ed25519Signature2020', 'JsonWebSignature2020', 'dataintegrityproof', '']) {
      expect(await spoiled((c) => (c.proof.type = type)), type).toBe('credential_unsupported')
    }
  })

  test('A045 a purpose other than assertionMethod, signed so or changed', async () => {
    expect(await signed(() => undefined, { proofPurpose: 'authentication' })).toBe(
      'credential_signature_invalid',
    )
    expect(await spoiled((c) => (c.proof.proofPurpose = 'capabilityInvocation'))).toBe(
      'credential_signature_invalid',
    )
  })

  test('A046 proof options changed after signing', async () => {
    expect(await spoiled((c) => (c.proof.created = at(-5)))).toBe('credential_signature_invalid')
    expect(await spoiled((c) => (c.proof.domain = 'x.example'))).toBe('credential_signature_invalid')
    expect(await spoiled((c) => (c.proof.challenge = '1'))).toBe('credential_signature_invalid')
    expect(await spoiled((c) => (c.proof.verificationMethod = `${issuer.did}#other`))).toBe(
      'credential_signature_invalid',
    )
  })

  test('A048 S + L, the same equation in another spelling', async () => {
    const bytes = findSignature(good)
    const s = BigInt(`0x${Buffer.from(bytes.slice(32)).reverse().toString('hex')}`) + ORDER
    const larger = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()
    expect(await judge(withSignature(Uint8Array.of(...bytes.slice(0, 32), ...larger)))).toBe(
      'credential_signature_invalid',
    )
  })

  test('A050 a low-order key that got into the list all the same', async () => {
    const identity = new Uint8Array(32)
    identity[0] = 1
    const weak: PublicKey = { algorithm: 'Ed25519', bytes: identity, multikey: issuer.key.publicKey.multikey }
    const poisoned = new PlainSite(trusted(issuer, { keys: new Map([[issuer.method, trustedKey(weak)]]) }))
    // R = identity and S = 0 satisfy the equation for every message under that key.
    const forged = Uint8Array.of(...identity, ...new Uint8Array(32))
    expect(await judge(withSignature(forged), createData(poisoned))).toBe('credential_signature_invalid')
  })

  test('A055 a key of another DID than the issuer', async () => {
    const { proof: _, ...unsigned } = good
    for (const signer of [other, attacker]) {
      const document = await signDocument(unsigned, {
        key: signer.key,
        verificationMethod: signer.method,
        createdMs: NOW - 1000,
      })
      expect(await judge(document)).toBe('credential_signature_invalid')
    }
    const disguised = await signDocument(unsigned, {
      key: attacker.key,
      verificationMethod: issuer.method,
      createdMs: NOW - 1000,
    })
    expect(await judge(disguised)).toBe('credential_signature_invalid')
  })

  test('A057 a JWT', async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const jwt of [
      `${part({ alg: 'none' })}.${part({ vc: good })}.`,
      `${part({ alg: 'HS256' })}.${part({ vc: good })}.AAAA`,
    ]) {
      const verdict = await verify({ header: jwt }, createDemand(), createData(site))
      expect(verdict).toMatchObject({ code: 'credential_malformed' })
    }
  })

  test('A058 a key of ours that is no issuer', async () => {
    expect(await judge(await issue(attacker))).toBe('issuer_untrusted')
  })
})

describe('group 4: trust', () => {
  test('A060 A061 an issuer that this site does not list, with a perfect signature', async () => {
    expect(await judge(await issue(attacker))).toBe('issuer_untrusted')
    const elsewhere = new PlainSite(trusted(attacker))
    elsewhere.siteId = 'other.example' as SiteId
    expect(await judge(await issue(issuer), createData(elsewhere))).toBe('issuer_untrusted')
  })

  test('A061 says nothing of the site before the signature is valid', async () => {
    expect(await judge(await issue(attacker, { siteId: 'other.example' }))).toBe('issuer_untrusted')
    expect(await spoiled((c) => (c.credentialSubject.site_id = 'other.example'))).toBe(
      'credential_signature_invalid',
    )
  })

  test('A062 an issuer that has just been removed, however often the credential was seen before', async () => {
    const known = new PlainSite(trusted(issuer))
    const data = createData(known, { signatures: new SignatureCache() })
    expect(await judge(good, data)).toBe('allowed')
    expect(await judge(good, data)).toBe('allowed')
    known.issuers.delete(issuer.did)
    expect(await judge(good, data)).toBe('issuer_untrusted')
  })

  test('A064 an issuer that is not a plain string', async () => {
    for (const wrong of [{ id: issuer.did }, { id: issuer.did, ID: 'x' }, [issuer.did], null, 7, '']) {
      expect(await spoiled((c) => (c.issuer = wrong)), JSON.stringify(wrong)).toBe('credential_malformed')
    }
  })

  test('A066 A067 an issuer that looks like another, or wants to be fetched', async () => {
    for (const did of [
      'did:web:127.0.0.1%3A80',
      'did:web:169.254.169.254',
      'did:web:\u0430pple.com',
      issuer.did.toUpperCase(),
      `${issuer.did} `,
    ]) {
      expect(await signed((c) => (c.issuer = did)), did).toBe('issuer_untrusted')
    }
  })

  test('A069 one id from two issuers: its revocation rejects both', async () => {
    const known = new PlainSite(trusted(issuer), trusted(other))
    const credentialId = 'cred_shared_by_two_issuers'
    const both = [await issue(issuer, { credentialId }), await issue(other, { credentialId })]
    for (const document of both) expect(await judge(document, createData(known))).toBe('allowed')
    known.credentials.add(credentialId)
    for (const document of both) expect(await judge(document, createData(known))).toBe('credential_revoked')
  })
})

describe('group 5: time', () => {
  const end = NOW + 3_600_000

  test('A071 is over at the very millisecond of its end', async () => {
    expect(await judge(good, createData(site), end - 1)).toBe('allowed')
    expect(await judge(good, createData(site), end)).toBe('credential_expired')
    expect(await judge(good, createData(site), end + 1000)).toBe('credential_expired')
  })

  test('A072 may begin ten seconds ahead of our clock, and no more', async () => {
    expect(await signed((c) => (c.validFrom = at(10)))).toBe('allowed')
    expect(await signed((c) => (c.validFrom = '2026-11-14T12:00:10.001Z'))).toBe('credential_not_yet_valid')
    expect(await signed((c) => (c.validFrom = at(61)))).toBe('credential_not_yet_valid')
  })

  test('A073 without an end', async () => {
    for (const wrong of [undefined, null, 0, '']) {
      expect(await signed((c) => (wrong === undefined ? delete c.validUntil : (c.validUntil = wrong)))).toBe(
        'credential_malformed',
      )
    }
  })

  test('A074 times that are no times', async () => {
    for (const wrong of [
      '2027-02-30T00:00:00Z',
      '2027',
      'Jan 1 2027',
      '2027-01-01T24:00:00Z',
      '2027-01-01T00:00:00',
      '2027-01-01T00:00:00+00:00',
    ]) {
      expect(await signed((c) => (c.validUntil = wrong)), wrong).toBe('credential_malformed')
    }
    expect(await signed((c) => (c.validFrom = '2025-02-30T00:00:00Z'))).toBe('credential_malformed')
  })

  test('A077 an end before the beginning', async () => {
    expect(await signed((c) => (c.validFrom = at(3601)))).toBe('credential_malformed')
  })

  test('A078 a longer life than allowed, told only once the signature is valid', async () => {
    const strict = createData(new PlainSite(trusted(issuer, { credentialTtlSecondsMax: 60 })))
    expect(await judge(good, strict)).toBe('issuer_untrusted')
    expect(await judge(withSignature(new Uint8Array(64).fill(1)), strict)).toBe(
      'credential_signature_invalid',
    )
  })

  test('A080 the verdict follows the time it is given, which never runs back (see the time mark)', async () => {
    expect(await judge(good, createData(site), end + 3_600_000)).toBe('credential_expired')
  })

  test('A071 is over when its signature is, if that comes first', async () => {
    const { proof, ...unsigned } = good
    const until = async (expires: string) => {
      const { proofValue: _, ...options }: JsonObject = { ...(proof as JsonObject), expires }
      const { bytes } = await signingInput(unsigned, options)
      const proofValue = `z${encodeBase58(await issuer.key.sign(bytes))}`
      return { ...unsigned, proof: { ...options, proofValue } }
    }
    expect(await judge(await until(at(1)))).toBe('allowed')
    expect(await judge(await until(at(0)))).toBe('credential_expired')
    expect(await judge(await until(at(7200)), createData(site), end)).toBe('credential_expired')
    expect(await judge(await until('never'))).toBe('credential_malformed')
    expect(await spoiled((c) => (c.proof.expires = at(7200))), 'added after signing').toBe(
      'credential_signature_invalid',
    )
  })

  test('A081 a proof from the future', async () => {
    expect(await signed(() => undefined, { createdMs: NOW + 10_000 })).toBe('allowed')
    expect(await signed(() => undefined, { createdMs: NOW + 10_001 })).toBe('credential_not_yet_valid')
    expect(await signed(() => undefined, { createdMs: NOW + 90_000 })).toBe('credential_not_yet_valid')
    expect(await spoiled((c) => (c.proof.created = 'yesterday'))).toBe('credential_malformed')
  })
})

describe('group 6: site binding', () => {
  test('A082 A083 A086 another site, or the same one in another spelling', async () => {
    for (const wrong of [
      'other.example',
      'SHOP.EXAMPLE',
      `${SITE}.`,
      `${SITE}:443`,
      `https://${SITE}`,
      ` ${SITE}`,
      'sh\u00f6p.example',
      '*',
      '',
    ]) {
      expect(await signed((c) => (c.credentialSubject.site_id = wrong)), JSON.stringify(wrong)).toBe(
        'site_mismatch',
      )
    }
  })

  test('A085 several sites, or none', async () => {
    for (const wrong of [[SITE], [SITE, 'b.example'], { 0: SITE }, null, 7, undefined]) {
      const edit = (c: Editable) =>
        wrong === undefined ? delete c.credentialSubject.site_id : (c.credentialSubject.site_id = wrong)
      expect(await signed(edit), JSON.stringify(wrong)).toBe('credential_malformed')
    }
  })
})

describe('group 7: scope', () => {
  const withScope = (scope: unknown) =>
    signed((c) =>
      scope === undefined ? delete c.credentialSubject.scope : (c.credentialSubject.scope = scope),
    )

  test('A089 a scope that is not there, or only nearly', async () => {
    for (const scope of [['orders'], ['orders:read2'], ['orders:*'.replace('*', 'all')], ['orders:rea']]) {
      expect(await withScope(scope), JSON.stringify(scope)).toBe('scope_insufficient')
    }
  })

  test('A090 A092 A095 lists that are no lists of scopes', async () => {
    const many = (n: number) => Array.from({ length: n }, (_, i) => (i === 0 ? 'orders:read' : `s${i}`))
    expect(await withScope(many(32))).toBe('allowed')
    const wrong = [
      'read write',
      'orders:read',
      ['orders:read orders:write'],
      many(33),
      ['orders:read', 'a'.repeat(129)],
      ['orders:read', 'orders:read'],
    ]
    for (const scope of [
      ...wrong,
      ['ORDERS:READ'],
      ['*'],
      [''],
      [1],
      null,
      undefined,
      { 0: 'orders:read', length: 1 },
    ]) {
      expect(await withScope(scope), JSON.stringify(scope)?.slice(0, 40)).toBe('credential_malformed')
    }
  })

  test('A094 no scope at all', async () => {
    expect(await withScope([])).toBe('scope_insufficient')
  })
})
