import { base58 } from '@scure/base'
import { beforeAll, describe, expect, test } from 'vitest'
import { credentialHeader } from '../../src/credential/header.ts'
import { readCredentialHeader, readCredentialObject } from '../../src/credential/read.ts'
import type { JsonObject, JsonValue } from '../../src/encoding/json.ts'
import { at, edited, issue, newParty, put } from '../sample.ts'
import { unhex } from '../vectors.ts'

let good: JsonObject
beforeAll(async () => {
  good = await issue(await newParty())
})

const malformed = (why: string) => ({
  ok: false,
  code: 'credential_malformed',
  detail: `The credential is malformed: ${why}. Correct it, or request a new one from its issuer.`,
})
const unsupported = (why: string) => ({
  ok: false,
  code: 'credential_unsupported',
  detail: `The credential is not supported: ${why}. Request a supported one from its issuer.`,
})

type Value = JsonValue | undefined
interface Member {
  readonly path: string
  /**
   * The values and the expected denial. `undefined` removes the member; `line` is the number of the
   * attack.
   */
  readonly rejected: readonly {
    readonly line?: string
    readonly values: readonly Value[]
    readonly answer: object
  }[]
}

const V2 = 'https://www.w3.org/ns/credentials/v2'
const ACCESS = 'https://w3id.org/countersign/access/v1'
const NO_STRING: readonly Value[] = [undefined, null, 1, true, {}, [], ['x']]
const ID = 'did:service:cred_abcdefgh'
const PPID = 'did:service:ppid_abcdefgh'
const KEY = 'z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2'
const LOW_ORDER_KEY = `did:key:z${base58.encode(unhex(`ed01${'00'.repeat(32)}`))}`
const X25519_KEY = `did:key:z${base58.encode(unhex(`ec01${'09'.repeat(32)}`))}`
const scopes = (count: number) => Array.from({ length: count }, (_, i) => `s${i}`)

const badContext = unsupported('@context is not exactly the two entries of an access credential')
const badType = unsupported('type is not exactly VerifiableCredential, AccessCredential')
const badScope = malformed('credentialSubject.scope is not a list of at most 32 different scopes')
const badTime = (member: string) => malformed(`${member} is missing or not an RFC 3339 time in UTC with Z`)

const UNREADABLE_TIMES: readonly Value[] = [
  null,
  '',
  '2026-02-30T00:00:00Z',
  '2026',
  'Jan 1 2027',
  '2026-11-14T24:00:00Z',
  '2026-11-14T12:00:00',
  '2026-11-14T12:00:00+00:00',
  '2026-11-14t12:00:00z',
  ' 2026-11-14T12:00:00Z',
  '2026-11-14T12:00:00Z\n',
  '9999-99-99T99:99:99Z',
  1_794_657_600,
  ['2027-11-14T12:00:00Z'],
  {},
]

const MEMBERS: readonly Member[] = [
  {
    path: '@context',
    rejected: [
      { line: 'A038', values: [undefined], answer: malformed('@context is missing') },
      {
        line: 'A038',
        answer: badContext,
        values: [
          null,
          V2,
          [],
          [V2],
          [ACCESS],
          [ACCESS, V2],
          [V2, ACCESS, 'https://evil.example'],
          [V2, `${ACCESS}/`],
          [V2, { a: 'b' }],
          [[V2, ACCESS]],
          ['https://www.w3.org/2018/credentials/v1', ACCESS],
          { 0: V2, 1: ACCESS, length: 2 },
          `${V2},${ACCESS}`,
        ],
      },
    ],
  },
  {
    path: 'type',
    rejected: [
      { values: [undefined], answer: malformed('type is missing') },
      {
        answer: badType,
        values: [
          null,
          'AccessCredential',
          [],
          ['AccessCredential'],
          ['VerifiableCredential'],
          ['AccessCredential', 'VerifiableCredential'],
          ['VerifiableCredential', 'AccessCredential', 'AdminCredential'],
          ['VerifiableCredential', 'accesscredential'],
          ['VerifiablePresentation', 'AccessCredential'],
        ],
      },
    ],
  },
  {
    path: 'credentialStatus',
    rejected: [
      {
        values: [null, false, {}, [], { type: 'BitstringStatusListEntry' }],
        answer: unsupported('credentialStatus must be absent, because revocation works through this service'),
      },
    ],
  },
  {
    path: 'proof',
    rejected: [
      {
        line: 'A040',
        values: [undefined, null, [], 'z1', 1, false],
        answer: malformed('proof is missing or not an object'),
      },
      { line: 'A040', values: [{}], answer: malformed('proof.type is missing') },
      {
        line: 'A041',
        answer: unsupported('proof is not exactly one object'),
        values: [[{}], [null], [{ type: 'DataIntegrityProof' }, 'garbage']],
      },
    ],
  },
  {
    path: 'proof/type',
    rejected: [
      { line: 'A044', values: NO_STRING, answer: malformed('proof.type is missing') },
      {
        line: 'A044',
        answer: unsupported('proof.type is not DataIntegrityProof'),
        values: ['', 'Ed25519Signature2020', 'dataIntegrityProof', 'DataIntegrityProof '],
      },
    ],
  },
  {
    path: 'proof/cryptosuite',
    rejected: [
      { line: 'A043', values: NO_STRING, answer: malformed('proof.cryptosuite is missing') },
      {
        line: 'A043',
        answer: unsupported('proof.cryptosuite is not supported'),
        values: ['', 'none', 'eddsa-rdfc-2022', 'EDDSA-JCS-2022', 'eddsa-jcs-2022 ', 'toString'],
      },
    ],
  },
  {
    path: 'proof/proofPurpose',
    rejected: [{ line: 'A045', values: NO_STRING, answer: malformed('proof.proofPurpose is missing') }],
  },
  {
    path: 'proof/verificationMethod',
    rejected: [{ values: NO_STRING, answer: malformed('proof.verificationMethod is missing') }],
  },
  {
    path: 'proof/created',
    rejected: [{ line: 'A074', values: [undefined, ...UNREADABLE_TIMES], answer: badTime('proof.created') }],
  },
  {
    path: 'proof/expires',
    rejected: [
      {
        line: 'A074',
        values: UNREADABLE_TIMES,
        answer: malformed('proof.expires is not an RFC 3339 time in UTC with Z'),
      },
    ],
  },
  {
    path: 'proof/proofValue',
    rejected: [
      {
        answer: malformed('proof.proofValue is not a base58btc multibase value'),
        values: [
          ...NO_STRING,
          '',
          'z',
          `z${'2'.repeat(129)}`,
          'u22',
          'm22',
          'Z22',
          '22',
          ' z22',
          'z22\n',
          'z20',
          'z2O',
          'z2I',
          'z2l',
          'z2-',
          'z2\u00e9',
          'z22 ',
        ],
      },
    ],
  },
  {
    path: 'proof/@context',
    rejected: [
      {
        line: 'A038',
        answer: unsupported('the @context of the proof differs from that of the credential'),
        values: [null, V2, [], [V2], [ACCESS, V2], [V2, ACCESS, 'https://evil.example'], {}],
      },
    ],
  },
  {
    path: 'credentialSubject',
    rejected: [
      {
        values: [undefined, null, [], [{}], PPID, 1],
        answer: malformed('credentialSubject is missing or not an object'),
      },
    ],
  },
  {
    path: 'id',
    rejected: [
      {
        answer: malformed('id is not did:service:cred_… with 8 to 64 letters, digits, - or _'),
        values: [
          ...NO_STRING,
          '',
          'cred_abcdefgh',
          'did:service:cred_abcdefg',
          `did:service:cred_${'a'.repeat(65)}`,
          PPID,
          `${ID}\n`,
          'urn:uuid:0',
        ],
      },
      {
        answer: malformed('id has the form of the ids that are derived from access tokens'),
        values: [`did:service:cred_jt_${'A'.repeat(43)}`, `did:service:cred_js_${'-'.repeat(43)}`],
      },
    ],
  },
  {
    path: 'issuer',
    rejected: [
      {
        line: 'A064',
        answer: malformed('issuer is not a string'),
        values: [
          ...NO_STRING,
          '',
          { id: 'did:web:issuer.example' },
          { id: 'did:web:issuer.example', ID: 'did:web:evil.example' },
        ],
      },
    ],
  },
  {
    path: 'validFrom',
    rejected: [{ line: 'A074', values: [undefined, ...UNREADABLE_TIMES], answer: badTime('validFrom') }],
  },
  {
    path: 'validUntil',
    rejected: [
      { line: 'A073', values: [undefined, null], answer: badTime('validUntil') },
      { line: 'A074', values: UNREADABLE_TIMES, answer: badTime('validUntil') },
      {
        line: 'A077',
        answer: malformed('validUntil is before validFrom'),
        values: ['2026-11-14T11:58:59.999Z', at(-61), '0000-01-01T00:00:00Z'],
      },
    ],
  },
  {
    path: 'credentialSubject/id',
    rejected: [
      {
        answer: malformed(
          'credentialSubject.id is not did:service:ppid_… with 8 to 128 letters, digits, - or _',
        ),
        values: [
          ...NO_STRING,
          '',
          'ppid_abcdefgh',
          'did:service:ppid_abcdefg',
          `did:service:ppid_${'a'.repeat(129)}`,
          ID,
          `${PPID}\n`,
        ],
      },
      {
        answer: malformed('credentialSubject.id has the form of the ids that are derived from access tokens'),
        values: [`did:service:ppid_j_${'A'.repeat(43)}`],
      },
    ],
  },
  {
    path: 'credentialSubject/site_id',
    rejected: [
      {
        line: 'A085',
        answer: malformed('credentialSubject.site_id is missing or not a string'),
        values: [...NO_STRING, ['a.example'], ['a.example', 'b.example']],
      },
    ],
  },
  {
    path: 'credentialSubject/scope',
    rejected: [
      {
        line: 'A090',
        values: [undefined, null, 'read write', 'read', ['read write'], { 0: 'read', length: 1 }, 1],
        answer: badScope,
      },
      {
        line: 'A090',
        values: [['*'], ['Read'], [''], ['read', 1], [null], [['read']], ['re\u0430d'], ['read\n']],
        answer: badScope,
      },
      {
        line: 'A092',
        values: [scopes(33), scopes(500), ['a'.repeat(129)], ['a'.repeat(4000)]],
        answer: badScope,
      },
      {
        line: 'A095',
        values: [
          ['read', 'read'],
          ['a', 'b', 'a'],
        ],
        answer: badScope,
      },
    ],
  },
  {
    path: 'credentialSubject/permission_id',
    rejected: [
      {
        answer: malformed('credentialSubject.permission_id is malformed'),
        values: [null, '', 'a b', 'a'.repeat(65), 'perm\n', 1, false, {}, ['perm_orders']],
      },
    ],
  },
  {
    path: 'credentialSubject/holder_key',
    rejected: [
      {
        answer: malformed('credentialSubject.holder_key is not a did:key with a valid key'),
        values: [
          null,
          '',
          1,
          false,
          {},
          ['x'],
          'did:web:holder.example',
          'did:key:',
          'did:key:z6Mk',
          KEY,
          `did:key:${KEY}#0`,
          `did:key:u${KEY}`,
        ],
      },
      {
        line: 'A050',
        values: [LOW_ORDER_KEY],
        answer: malformed('credentialSubject.holder_key is not a did:key with a valid key'),
      },
      {
        line: 'A053',
        values: [X25519_KEY],
        answer: malformed('credentialSubject.holder_key is not a did:key with a valid key'),
      },
    ],
  },
  {
    path: 'credentialSubject/delegable',
    rejected: [
      {
        line: 'A115',
        answer: malformed('credentialSubject.delegable is not true or false'),
        values: [null, 'true', 'false', '', 1, 0, [], [true], {}],
      },
    ],
  },
  {
    path: 'parent',
    rejected: [
      {
        values: [null, [], ID, 1, true, false, [{}]],
        answer: malformed('parent is not a signed credential'),
      },
    ],
  },
]

describe.each(MEMBERS)('a credential is rejected when its $path', ({ path, rejected }) => {
  const cases = rejected.flatMap(({ line = '', values, answer }) =>
    values.map((value) => ({
      title:
        `${line} ${value === undefined ? 'is missing' : `is ${JSON.stringify(value).slice(0, 60)}`}`.trim(),
      value,
      answer,
    })),
  )

  test.each(cases)('$title', ({ value, answer }) => {
    const spoiled = edited(good, (copy) => put(copy, path, value))
    expect(spoiled).not.toEqual(good)
    expect(readCredentialObject(spoiled)).toEqual(answer)
    expect(readCredentialHeader(credentialHeader(spoiled))).toEqual(answer)
  })
})

describe('a credential is rejected', () => {
  const read = (edit: Parameters<typeof edited>[1]) => readCredentialObject(edited(good, edit))

  test('A092 with 1,000 scopes or one of 10,000 characters, which no header could carry', () => {
    expect(read((copy) => put(copy, 'credentialSubject/scope', scopes(1000)))).toEqual(badScope)
    expect(read((copy) => put(copy, 'credentialSubject/scope', ['a'.repeat(10_000)]))).toEqual(badScope)
  })

  test('A041 with a list of proofs, even if the good one is all that is in it', () => {
    const answer = unsupported('proof is not exactly one object')
    expect(read((copy) => put(copy, 'proof', [copy.proof]))).toEqual(answer)
    expect(read((copy) => put(copy, 'proof', [copy.proof, {}]))).toEqual(answer)
  })

  test('A038 with another @context in credential and proof alike', () => {
    const turned = (copy: Parameters<typeof put>[0]) => {
      put(copy, '@context', [ACCESS, V2])
      put(copy, 'proof/@context', [ACCESS, V2])
    }
    expect(read(turned)).toEqual(badContext)
  })
})
