import { beforeAll, describe, expect, test } from 'vitest'
import { issueCredential, type Signer } from '../../src/credential/issue.ts'
import { readCredentialObject } from '../../src/credential/read.ts'
import { checkProof } from '../../src/proof/check.ts'
import { requireSuite } from '../../src/proof/suites.ts'
import { type Editable, grant, NOW, newParty, type Party, READ, toSigner, WRITE } from '../sample.ts'

const YEAR_0 = Date.parse('0000-01-01T00:00:00Z')
const YEAR_10000 = Date.parse('9999-12-31T23:59:59.999Z') + 1

let issuer: Party
let holder: Party
let signer: Signer
beforeAll(async () => {
  issuer = await newParty()
  holder = await newParty()
  signer = toSigner(issuer)
})

describe('an issued credential', () => {
  test('has the shape of the standard, and every claim in its one signed place', async () => {
    const granted = grant({ holderKey: holder.did, delegable: true })
    const { proof, ...unsecured } = (await issueCredential(granted, signer)) as Editable
    expect(unsecured).toStrictEqual({
      '@context': ['https://www.w3.org/ns/credentials/v2', 'https://w3id.org/countersign/access/v1'],
      id: `did:service:${granted.credentialId}`,
      type: ['VerifiableCredential', 'AccessCredential'],
      issuer: issuer.did,
      validFrom: '2026-11-14T11:59:00Z',
      validUntil: '2026-11-14T13:00:00Z',
      credentialSubject: {
        id: granted.ppid,
        site_id: 'shop.example',
        scope: ['orders:read', 'orders:write'],
        permission_id: 'perm_orders',
        holder_key: holder.did,
        delegable: true,
      },
    })
    expect(proof).toStrictEqual({
      type: 'DataIntegrityProof',
      cryptosuite: 'eddsa-jcs-2022',
      created: '2026-11-14T11:59:59Z',
      verificationMethod: issuer.method,
      proofPurpose: 'assertionMethod',
      '@context': unsecured['@context'],
      proofValue: expect.stringMatching(/^z/),
    })
  })

  test.each(['Ed25519', 'P-256'] as const)(
    'carries a signature by the key of its issuer: %s',
    async (algorithm) => {
      const party = await newParty(algorithm)
      const signed = await issueCredential(grant(), toSigner(party))
      expect(await checkProof(signed, party.key.publicKey, requireSuite(algorithm))).toBe(true)
      expect(
        await checkProof(
          { ...signed, issuer: 'did:web:evil.example' },
          party.key.publicKey,
          requireSuite(algorithm),
        ),
      ).toBe(false)
    },
  )

  test('can be read back as it was granted', async () => {
    const { permissionId: _, ...granted } = grant({
      scope: [WRITE, READ],
      validFromMs: NOW + 1,
      validUntilMs: NOW + 2,
    })
    const { credential } = readCredentialObject(await issueCredential(granted, signer)) as Editable
    expect(credential).toStrictEqual({
      id: granted.credentialId,
      issuer: issuer.did,
      ppid: granted.ppid,
      site: 'shop.example',
      scope: [WRITE, READ],
      permissionId: undefined,
      holderKey: undefined,
      delegable: false,
      validFromMs: NOW + 1,
      validUntilMs: NOW + 2,
      createdMs: NOW - 1000,
      verificationMethod: issuer.method,
      parent: undefined,
    })
  })

  test('has no member for what was not granted', async () => {
    const { permissionId: _, ...granted } = grant({ delegable: false })
    const { credentialSubject, parent } = (await issueCredential(granted, signer)) as Editable
    expect(Object.keys(credentialSubject)).toEqual(['id', 'site_id', 'scope'])
    expect(parent).toBeUndefined()
    const bound = (await issueCredential(grant({ holderKey: holder.did }), signer)) as Editable
    expect(Object.keys(bound.credentialSubject)).toEqual([
      'id',
      'site_id',
      'scope',
      'permission_id',
      'holder_key',
    ])
  })

  test('does not change with the list that was granted', async () => {
    const scope = ['orders:read']
    const signed = (await issueCredential(grant({ scope }), signer)) as Editable
    scope.push('admin')
    expect(signed.credentialSubject.scope).toEqual(['orders:read'])
    signed['@context'].push('https://evil.example')
    signed.type.push('AdminCredential')
    expect(await issueCredential(grant(), signer)).toHaveProperty('type', [
      'VerifiableCredential',
      'AccessCredential',
    ])
  })

  test.each([
    ['no scope at all', { scope: [] }],
    ['32 scopes', { scope: Array.from({ length: 32 }, (_, i) => `s${i}`) }],
    ['one millisecond of life', { validFromMs: NOW, validUntilMs: NOW + 1 }],
    ['all the years that can be written', { validFromMs: YEAR_0, validUntilMs: YEAR_10000 - 1 }],
    ['a permission id of one character', { permissionId: 'p' }],
    ['the shortest ids', { credentialId: 'cred_12345678', ppid: 'did:service:ppid_12345678', siteId: 'a' }],
  ])('may have %s', async (_, changes) => {
    expect(readCredentialObject(await issueCredential(grant(changes), signer))).toHaveProperty('credential')
  })
})

/** Each possible mistake in a grant, and its message. */
const MISTAKES: [changes: Editable, words: string][] = [
  [{ credentialId: 'cred_1234567' }, 'credentialId must be cred_ and 8 to 64 letters, digits, - or _'],
  [
    { credentialId: 'did:service:cred_12345678' },
    'credentialId must be cred_ and 8 to 64 letters, digits, - or _',
  ],
  [{ ppid: 'ppid_12345678' }, 'ppid must be did:service:ppid_ and 8 to 128 letters, digits, - or _'],
  [{ siteId: 'https://shop.example' }, 'siteId must be a lower-case host name'],
  [{ siteId: 'Shop.example' }, 'siteId must be a lower-case host name'],
  [{ scope: ['orders:read', 'orders:read'] }, 'scope must be a list of at most 32 different scopes'],
  [{ scope: 'orders:read' }, 'scope must be a list of at most 32 different scopes'],
  [
    { scope: Array.from({ length: 33 }, (_, i) => `s${i}`) },
    'scope must be a list of at most 32 different scopes',
  ],
  [{ permissionId: '' }, 'permissionId must be 1 to 64 letters, digits or _.:-'],
  [{ permissionId: 'a b' }, 'permissionId must be 1 to 64 letters, digits or _.:-'],
  [{ holderKey: 'did:web:holder.example' }, 'holderKey must be a did:key with a valid key'],
  [{ holderKey: '' }, 'holderKey must be a did:key with a valid key'],
  [{ delegable: true }, 'only a credential with a holderKey can be delegable'],
  [{ validFromMs: YEAR_0 - 1 }, 'validFromMs must be milliseconds since 1970, in the years 0 to 9999'],
  [
    { validFromMs: Number.NEGATIVE_INFINITY },
    'validFromMs must be milliseconds since 1970, in the years 0 to 9999',
  ],
  [{ validUntilMs: YEAR_10000 }, 'validUntilMs must be milliseconds since 1970, in the years 0 to 9999'],
  [
    { validUntilMs: Number.POSITIVE_INFINITY },
    'validUntilMs must be milliseconds since 1970, in the years 0 to 9999',
  ],
  [{ validUntilMs: NOW - 60_000 }, 'validUntilMs must be later than validFromMs'],
  [{ validUntilMs: NOW - 60_001 }, 'validUntilMs must be later than validFromMs'],
  [{ validFromMs: NOW + 3_600_000 }, 'validUntilMs must be later than validFromMs'],
]

describe('a mistake', () => {
  test.each(MISTAKES)('is named: %j', async (changes, words) => {
    await expect(issueCredential(grant(changes), signer)).rejects.toThrow(
      new TypeError(`cannot issue this credential: ${words}`),
    )
  })

  test.each([
    [{ credentialId: `cred_jt_${'A'.repeat(43)}` }, 'id'],
    [{ credentialId: `cred_js_${'A'.repeat(43)}` }, 'id'],
    [{ ppid: `did:service:ppid_j_${'A'.repeat(43)}` }, 'credentialSubject.id'],
  ])('in an id that is reserved for access tokens is named: %j', async (changes, member) => {
    await expect(issueCredential(grant(changes), signer)).rejects.toThrow(
      `${member} has the form of the ids that are derived from access tokens`,
    )
  })

  test('in a time that is no number is named, too', async () => {
    await expect(issueCredential(grant({ validUntilMs: Number.NaN }), signer)).rejects.toThrow(
      new TypeError(
        'cannot issue this credential: validUntilMs must be milliseconds since 1970, in the years 0 to 9999; validUntilMs must be later than validFromMs',
      ),
    )
  })

  test.each<[string, Editable, string]>([
    [
      'a key of another',
      { verificationMethod: 'did:web:other.example#key-1' },
      'verificationMethod must be a key of the issuer',
    ],
    [
      'the issuer without a key',
      { verificationMethod: 'ISSUER' },
      'verificationMethod must be a key of the issuer',
    ],
    [
      'a longer name that begins alike',
      { verificationMethod: 'ISSUERx#key-1' },
      'verificationMethod must be a key of the issuer',
    ],
    [
      'a time of signing that is no number',
      { createdMs: Number.NaN },
      'createdMs must be milliseconds since 1970, in the years 0 to 9999',
    ],
    [
      'a time of signing that cannot be written',
      { createdMs: YEAR_10000 },
      'createdMs must be milliseconds since 1970, in the years 0 to 9999',
    ],
    [
      'an issuer without a name',
      { issuer: '', verificationMethod: '#key-1' },
      'The credential is malformed: issuer is not a string. Correct it, or request a new one from its issuer.',
    ],
  ])('of the signer is named: %s', async (_, changes, words) => {
    const other = { ...signer, ...changes }
    other.verificationMethod = other.verificationMethod.replace('ISSUER', issuer.did)
    await expect(issueCredential(grant(), other)).rejects.toThrow(
      new TypeError(`cannot issue this credential: ${words}`),
    )
  })

  test('does not hide another: all are named at once', async () => {
    const nothing = {
      credentialId: '',
      ppid: '',
      siteId: '',
      scope: [''],
      permissionId: '',
      holderKey: '',
      validFromMs: Number.NaN,
      validUntilMs: Number.NaN,
    }
    const unsigned = { ...signer, createdMs: Number.NaN, verificationMethod: 'did:web:other.example#key-1' }
    await expect(issueCredential(nothing, unsigned)).rejects.toThrow(
      new TypeError(
        `cannot issue this credential: ${[
          'credentialId must be cred_ and 8 to 64 letters, digits, - or _',
          'ppid must be did:service:ppid_ and 8 to 128 letters, digits, - or _',
          'siteId must be a lower-case host name',
          'scope must be a list of at most 32 different scopes',
          'permissionId must be 1 to 64 letters, digits or _.:-',
          'holderKey must be a did:key with a valid key',
          'validFromMs must be milliseconds since 1970, in the years 0 to 9999',
          'validUntilMs must be milliseconds since 1970, in the years 0 to 9999',
          'validUntilMs must be later than validFromMs',
          'createdMs must be milliseconds since 1970, in the years 0 to 9999',
          'verificationMethod must be a key of the issuer',
        ].join('; ')}`,
      ),
    )
  })

  test('is found before the key is used', async () => {
    let used = 0
    const key = { publicKey: issuer.key.publicKey, sign: () => new Uint8Array(64).fill(++used) }
    await expect(issueCredential(grant({ siteId: '' }), { ...signer, key })).rejects.toThrow(TypeError)
    expect(used).toBe(0)
  })
})
