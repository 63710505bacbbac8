import { beforeAll, describe, expect, test } from 'vitest'
import type { SignedCredential } from '../../src/credential/credential.ts'
import { delegateCredential } from '../../src/credential/delegate.ts'
import { credentialHeader } from '../../src/credential/header.ts'
import { readCredentialHeader, readCredentialObject } from '../../src/credential/read.ts'
import type { JsonObject, JsonValue } from '../../src/encoding/json.ts'
import {
  at,
  type Editable,
  edited,
  issue,
  NOW,
  newCredentialId,
  newParty,
  type Party,
  put,
  READ,
  WRITE,
  weighing,
} from '../sample.ts'
import { unhex } from '../vectors.ts'

let issuer: Party
let holder: Party
let good: JsonObject
let bound: JsonObject
/**
 * A chain of four credentials, the maximum: `chain[3]` was delegated from `chain[2]`, and so on.
 */
let chain: JsonObject[]

beforeAll(async () => {
  issuer = await newParty()
  holder = await newParty()
  good = await issue(issuer)
  bound = await issue(issuer, { holderKey: holder.did, delegable: true })
  chain = [bound]
  for (const parent of [bound, undefined, undefined]) {
    const link = await delegateCredential(
      parent ?? (chain.at(-1) as JsonObject),
      {
        credentialId: newCredentialId(),
        scope: [READ],
        holderKey: holder.did,
        delegable: true,
        validFromMs: NOW,
        validUntilMs: NOW + 1000,
      },
      { key: holder.key, createdMs: NOW },
    )
    chain.push(link)
  }
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

/** The text of a valid credential with one part replaced. */
function respelled(from: string | RegExp, to: string): string {
  const text = JSON.stringify(good)
  const other = text.replace(from, () => to)
  expect(other).not.toBe(text)
  return other
}

const toHeader = (content: string | Uint8Array) => Buffer.from(content).toString('base64url')
const readText = (content: string | Uint8Array) => readCredentialHeader(toHeader(content))
/** The fault without its offset. */
function jsonFault(content: string): string {
  const read = readText(content)
  if (!('ok' in read)) return 'none'
  expect(read.code).toBe('credential_malformed')
  return read.detail.replace(/ near offset \d+\..*$/, '')
}
const notStrict = (fault: string) => `The credential is malformed: it is not strict JSON: ${fault}`

/** The same as it is read from a header, of which more is known. */
function asHeader(read: SignedCredential): SignedCredential {
  return { ...read, hasPlainStrings: true, parent: read.parent && asHeader(read.parent) }
}

/** Changes one thing and checks that header and object get the same denial. */
function spoiled(edit: (copy: Editable) => void, document: JsonObject = good) {
  const other = edited(document, edit)
  expect(other).not.toEqual(document)
  const read = readCredentialObject(other)
  expect(readCredentialHeader(credentialHeader(other))).toEqual('ok' in read ? read : asHeader(read))
  return read
}

describe('a good credential', () => {
  test('says what it was issued with', () => {
    const { credential, document, proof, parent } = readCredentialObject(bound) as Editable
    const { id, credentialSubject: subject, proof: signed } = bound as Editable
    expect(credential).toStrictEqual({
      id: id.slice('did:service:'.length),
      issuer: issuer.did,
      ppid: subject.id,
      site: 'shop.example',
      scope: [READ, WRITE],
      permissionId: 'perm_orders',
      holderKey: holder.did,
      delegable: true,
      validFromMs: NOW - 60_000,
      validUntilMs: NOW + 3_600_000,
      createdMs: NOW - 1000,
      verificationMethod: issuer.method,
      parent: undefined,
    })
    expect(document).toBe(bound)
    expect(proof).toStrictEqual({
      cryptosuite: 'eddsa-jcs-2022',
      proofPurpose: 'assertionMethod',
      proofValue: signed.proofValue,
      createdMs: NOW - 1000,
      expiresMs: Number.POSITIVE_INFINITY,
      verificationMethod: issuer.method,
    })
    expect(parent).toBeUndefined()
  })

  test('says the same in a header', () => {
    const read = readCredentialObject(bound) as SignedCredential
    expect(readCredentialHeader(credentialHeader(bound))).toStrictEqual(asHeader(read))
  })

  test('may be signed with P-256', async () => {
    expect(readCredentialObject(await issue(await newParty('P-256')))).toHaveProperty(
      'proof.cryptosuite',
      'ecdsa-jcs-2019',
    )
  })

  test.each<[string, string, JsonValue | undefined, string, unknown]>([
    ['no permission', 'credentialSubject/permission_id', undefined, 'permissionId', undefined],
    ['no holder key', 'credentialSubject/holder_key', undefined, 'holderKey', undefined],
    [
      'a holder key of P-256',
      'credentialSubject/holder_key',
      'did:key:zDnaepBuvsQ8cpsWrVKw8fbpGpvPeNSjVPTWoq6cRqaYzBKVP',
      'holderKey',
      'did:key:zDnaepBuvsQ8cpsWrVKw8fbpGpvPeNSjVPTWoq6cRqaYzBKVP',
    ],
    ['no word about delegation', 'credentialSubject/delegable', undefined, 'delegable', false],
    ['a no to delegation', 'credentialSubject/delegable', false, 'delegable', false],
    [
      'fractions of a second in validFrom',
      'validFrom',
      '2026-11-14T11:59:00.25Z',
      'validFromMs',
      NOW - 59_750,
    ],
    [
      'fractions of a second in validUntil',
      'validUntil',
      '2026-11-14T13:00:00.5Z',
      'validUntilMs',
      NOW + 3_600_500,
    ],
    [
      'fractions of a second in proof.created',
      'proof/created',
      '2026-11-14T12:00:00.999999999Z',
      'createdMs',
      NOW + 999,
    ],
    ['A094 an empty scope list', 'credentialSubject/scope', [], 'scope', []],
    [
      'A092 32 scopes',
      'credentialSubject/scope',
      Array.from({ length: 32 }, (_, i) => `s${i}`),
      'scope',
      Array.from({ length: 32 }, (_, i) => `s${i}`),
    ],
    ['a scope of 128 characters', 'credentialSubject/scope', ['s'.repeat(128)], 'scope', ['s'.repeat(128)]],
    ['A077 an end at its beginning', 'validUntil', at(-60), 'validUntilMs', NOW - 60_000],
    ['a proof that ends earlier, and ends with it', 'proof/expires', at(60), 'validUntilMs', NOW + 60_000],
    ['a proof that ends before it begins', 'proof/expires', at(-3600), 'validUntilMs', NOW - 3_600_000],
    ['a proof that ends at the same time', 'proof/expires', at(3600), 'validUntilMs', NOW + 3_600_000],
    [
      'a proof that ends later, which has no effect',
      'proof/expires',
      at(3601),
      'validUntilMs',
      NOW + 3_600_000,
    ],
    ['any issuer', 'issuer', 'did:web:\u0430pple.com', 'issuer', 'did:web:\u0430pple.com'],
    ['A083 any text as its site', 'credentialSubject/site_id', ' A.EXAMPLE:443', 'site', ' A.EXAMPLE:443'],
    ['an empty site', 'credentialSubject/site_id', '', 'site', ''],
    ['an unknown member', 'note', { a: [1] }, 'permissionId', 'perm_orders'],
    ['an unknown claim', 'credentialSubject/role', 'admin', 'permissionId', 'perm_orders'],
    ['an unknown member of the proof', 'proof/domain', 'shop.example', 'permissionId', 'perm_orders'],
    ['no @context in the proof', 'proof/@context', undefined, 'createdMs', NOW - 1000],
    [
      'A055 a key of another party',
      'proof/verificationMethod',
      'did:web:evil.example#1',
      'verificationMethod',
      'did:web:evil.example#1',
    ],
  ])('may have %s', (_, path, value, member, meaning) => {
    expect(spoiled((copy) => put(copy, path, value), bound)).toHaveProperty(`credential.${member}`, meaning)
  })

  test('A045 may have another purpose: that is for the check of the signature to reject', () => {
    expect(spoiled((copy) => put(copy, 'proof/proofPurpose', 'authentication'))).toHaveProperty(
      'proof.proofPurpose',
      'authentication',
    )
  })

  test.each([
    ['the shortest', `z${'1'.repeat(1)}`],
    ['the longest', `z${'2'.repeat(128)}`],
    ['every letter of base58', 'z123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'],
  ])('may have a proofValue that is %s', (_, proofValue) => {
    expect(spoiled((copy) => put(copy, 'proof/proofValue', proofValue))).toHaveProperty(
      'proof.proofValue',
      proofValue,
    )
  })

  test('A025 means the same whatever way a number in it is spelled', () => {
    const plain = readText(respelled('"type"', '"n":1,"type"'))
    expect(plain).toHaveProperty('document.n', 1)
    for (const spelling of ['1.0', '1E0', '1e0', '10e-1', '1.00'])
      expect(readText(respelled('"type"', `"n":${spelling},"type"`))).toEqual(plain)
    expect(readText(respelled('"type"', '"n":-0,"type"'))).toEqual(
      readText(respelled('"type"', '"n":0,"type"')),
    )
    expect(readText(respelled('"orders:read"', '1.0'))).toEqual(
      malformed('credentialSubject.scope is not a list of at most 32 different scopes'),
    )
  })

  test('means the same with blanks, escapes and in another order of members', () => {
    const { credential } = readCredentialObject(good) as Editable
    const turned = JSON.stringify(Object.fromEntries(Object.entries(good).reverse()), null, 2)
    expect(readText(turned.replace('"issuer"', '"\\u0069ssuer"'))).toHaveProperty('credential', credential)
  })
})

describe('a header', () => {
  test.each(['', ' ', '   \t '])('A002 %j is a credential missing', (header) => {
    expect(readCredentialHeader(header)).toEqual({
      ok: false,
      code: 'credential_missing',
      detail: 'The request has no credential. Send a signed credential in X-Service-Credential.',
    })
  })

  test('A012 may have 8,192 characters and not one more', () => {
    const longest = credentialHeader(weighing(good, 6144))
    expect(longest).toHaveLength(8192)
    expect(readCredentialHeader(longest)).toHaveProperty('credential')
    const tooLarge = {
      ok: false,
      code: 'header_too_large',
      detail: 'The credential header has more than 8192 characters. Send a smaller credential.',
    }
    expect(readCredentialHeader(`${longest}A`)).toEqual(tooLarge)
    expect(readCredentialHeader(' '.repeat(8193))).toEqual(tooLarge)
    expect(readText(JSON.stringify(weighing(good, 6145)))).toEqual(tooLarge)
  })

  const notBase64url = malformed('X-Service-Credential is not base64url without padding')
  test.each<[string, (header: string) => string]>([
    [
      'A003 the standard alphabet',
      () =>
        Buffer.from(JSON.stringify({ ...good, note: '\u{10ffff}\u{10ffff}\u{10ffff}' }))
          .toString('base64')
          .replace(/=*$/, ''),
    ],
    ['A004 padding', (header) => `${header}=`],
    [
      'A004 the padding that standard base64 would have',
      () =>
        `${toHeader(`${JSON.stringify(good)}${' '.repeat((7 - (JSON.stringify(good).length % 3)) % 3)}`)}==`,
    ],
    ['A007 two headers joined', (header) => `${header}, ${header}`],
    ['a blank in front', (header) => ` ${header}`],
    ['a newline behind', (header) => `${header}\n`],
    ['junk that Node skips', (header) => `${header.slice(0, 100)}!${header.slice(100)}`],
    ['quotes around it', (header) => `"${header}"`],
    ['one character of four', () => 'A'],
  ])('with %s is malformed', (_, spoil) => {
    expect(readCredentialHeader(spoil(credentialHeader(good)))).toEqual(notBase64url)
  })

  test.each([
    [
      'the JSON itself',
      () => JSON.stringify(good),
      'X-Service-Credential contains raw JSON. Send the base64url encoding of that JSON, without padding.',
    ],
    [
      'an API key',
      () => `svc_sk_${'A'.repeat(49)}`,
      'This is an API key, not a credential. Send it in X-API-Key.',
    ],
    [
      'a bearer token',
      () => `svc_at_${'A'.repeat(49)}`,
      'This is a bearer token, not a credential. Send it as "Authorization: Bearer svc_at_…".',
    ],
    [
      'A057 a JWT',
      () => `${toHeader('{"alg":"none"}')}.${toHeader('{}')}.`,
      'This is an access token, not a credential. It needs no exchange: send it as "Authorization: Bearer …".',
    ],
  ])('with %s is malformed, and the detail says where it belongs', (_, header, detail) => {
    expect(readCredentialHeader(header())).toEqual({ ok: false, code: 'credential_malformed', detail })
  })

  test('A010 encoded twice is malformed', () => {
    expect(readText(credentialHeader(good))).toEqual(
      malformed('it is not strict JSON: not a JSON value near offset 0'),
    )
  })

  test.each([
    ['FF', 'ff'],
    ['an overlong slash', 'c0af'],
    ['surrogates of three bytes each', 'eda0bdedb880'],
    ['Latin-1', 'e9'],
  ])('A027 with bytes that are not UTF-8 is malformed: %s', (_, bytes) => {
    const [before = '', after = ''] = JSON.stringify({ ...good, note: '|' }).split('|')
    const content = Buffer.concat([Buffer.from(before), unhex(bytes), Buffer.from(after)])
    expect(readText(content)).toEqual(malformed('it is not UTF-8'))
  })

  test('with a byte order mark is malformed', () => {
    expect(jsonFault(`\ufeff${JSON.stringify(good)}`)).toBe(notStrict('not a JSON value'))
  })
})

describe('the JSON of a credential', () => {
  test('A018 has each member once', () => {
    const evil =
      '"credentialSubject":{"id":"did:service:ppid_evilevil","site_id":"shop.example","scope":["admin"]}'
    expect(jsonFault(respelled('"proof":', `${evil},"proof":`))).toBe(
      notStrict('two members have the same name'),
    )
    expect(jsonFault(respelled('"credentialSubject":', `${evil},"credentialSubject":`))).toBe(
      notStrict('two members have the same name'),
    )
    expect(jsonFault(respelled('"proof":', `${evil.replace('c', '\\u0063')},"proof":`))).toBe(
      notStrict('two members have the same name'),
    )
  })

  test('A064 has each member of an issuer object once', () => {
    expect(jsonFault(respelled(/"issuer":"[^"]*"/, '"issuer":{"id":"a","id":"b"}'))).toBe(
      notStrict('two members have the same name'),
    )
  })

  test('A020 has each member once, also five levels down in the proof', () => {
    expect(jsonFault(respelled('"proof":{', '"proof":{"a":{"b":{"c":{"d":{"e":1,"e":1}}}},'))).toBe(
      notStrict('two members have the same name'),
    )
    expect(jsonFault(respelled('"proof":{', '"proof":{"type":"DataIntegrityProof",'))).toBe(
      notStrict('two members have the same name'),
    )
  })

  test.each(['{', '"credentialSubject":{', '"proof":{'])('A021 has no __proto__ after %s', (place) => {
    for (const name of ['__proto__', '\\u005f\\u005fproto__']) {
      expect(jsonFault(respelled(place, `${place}"${name}":{"scope":["admin"]},`))).toBe(
        notStrict('a member is called __proto__'),
      )
    }
    expect(({} as { scope?: unknown }).scope).toBeUndefined()
  })

  test.each(['9007199254740993', '1e400', '-1e400', '1e-400', '0.1000000000000000055511151231257827'])(
    'A023 A024 has no number like %s',
    (number) => {
      expect(jsonFault(respelled('{', `{"n":${number},`))).toBe(
        notStrict('a number that cannot be held exactly'),
      )
      expect(jsonFault(respelled('"credentialSubject":{', `"credentialSubject":{"n":[${number}],`))).toBe(
        notStrict('a number that cannot be held exactly'),
      )
    },
  )

  test.each([
    ['NaN', '{"n":NaN,', 'not a JSON value'],
    ['Infinity', '{"n":Infinity,', 'not a JSON value'],
    ['-Infinity', '{"n":-Infinity,', 'not a number'],
    ['a comment', '{/* x */', 'a member name is missing'],
    ['a comment to the end of the line', '{// x\n', 'a member name is missing'],
    ['single quotes', "{'n':1,", 'a member name is missing'],
    ['a bare name', '{n:1,', 'a member name is missing'],
    ['a trailing comma in a list', '{"n":[1,],', 'not a JSON value'],
    ['a leading zero', '{"n":01,', 'not a number'],
    ['a lone surrogate', '{"n":"\\ud800",', 'a lone surrogate'],
    ['a raw newline in a string', '{"n":"\n",', 'a control character in a string'],
  ])('A029 is strict: %s', (_, start, fault) => {
    expect(jsonFault(respelled('{', start))).toBe(notStrict(fault))
  })

  test('A029 has no comma before the end', () => {
    expect(jsonFault(respelled(/\}$/, ',}'))).toBe(notStrict('a member name is missing'))
  })

  test('A030 ends with the credential', () => {
    const text = JSON.stringify(good)
    for (const more of [text, 'x', '{}', ',', '\u0000'])
      expect(jsonFault(text + more)).toBe(notStrict('text after the end'))
    expect(readText(`${text}x`)).toEqual(
      malformed(`it is not strict JSON: text after the end near offset ${text.length}`),
    )
    expect(readText(`\n ${text} \r\n`)).toHaveProperty('credential')
  })

  test('A031 is at most 16 levels deep', () => {
    const deep = (levels: number) => respelled('{', `{"n":${'['.repeat(levels)}${']'.repeat(levels)},`)
    expect(readText(deep(15))).toHaveProperty('credential')
    expect(jsonFault(deep(16))).toBe(notStrict('more than 16 levels deep'))
    expect(jsonFault('['.repeat(5000))).toBe(notStrict('more than 16 levels deep'))
    expect(readText('['.repeat(100_000))).toHaveProperty('code', 'header_too_large')
  })

  test.each(['[]', '"credential"', 'null', '1', 'true'])('A035 is an object, and not %s', (text) => {
    expect(readText(text)).toEqual(malformed('it is not a JSON object'))
    expect(readCredentialObject(JSON.parse(text))).toEqual(malformed('it is not a JSON object'))
  })

  test('A035 is an object, and not a list with one in it', () => {
    expect(readText(`[${JSON.stringify(good)}]`)).toEqual(malformed('it is not a JSON object'))
    expect(readText('{}')).toEqual(malformed('@context is missing'))
  })
})

describe('a chain', () => {
  test('A114 may have three links', () => {
    const read = readCredentialObject(chain[3] as JsonObject) as Editable
    const ids = (chain as Editable[]).map((link) => link.id.slice('did:service:'.length)).reverse()
    const { credential } = read
    expect([
      credential.id,
      credential.parent.id,
      credential.parent.parent.id,
      credential.parent.parent.parent.id,
    ]).toEqual(ids)
    expect(credential.parent.parent.parent.parent).toBeUndefined()
    expect(read.parent.parent.parent.document).toBe(bound)
    expect(read.parent.parent.parent.parent).toBeUndefined()
  })

  test('delegates what the parent says on its own', () => {
    const read = readCredentialObject(chain[1] as JsonObject) as Editable
    expect(read.parent).toStrictEqual(readCredentialObject(bound))
    expect(read.credential.parent).toBe(read.parent.credential)
  })

  const tooDeep = {
    ok: false,
    code: 'delegation_too_deep',
    detail: 'The delegation chain is too long. Delegate a credential at most 3 times.',
  }
  test('A114 may not have four links', () => {
    const fifth = edited(good, (copy) => put(copy, 'parent', chain[3] as JsonObject))
    expect(readCredentialObject(fifth)).toEqual(tooDeep)
    // The same credential is valid one level higher.
    expect(
      readCredentialObject(edited(good, (copy) => put(copy, 'parent', chain[2] as JsonObject))),
    ).toHaveProperty('credential')
  })

  test('A114 is rejected for its depth before any caller looks at what lies too deep', () => {
    const links = (count: number, innermost: JsonObject): JsonObject => {
      let document = innermost
      for (let i = 0; i < count; i++) document = { ...good, parent: document }
      return document
    }
    expect(readCredentialObject(links(4, {}))).toEqual(tooDeep)
    expect(readCredentialObject(links(4, { parent: null }))).toEqual(tooDeep)
    expect(readCredentialObject(links(3, {}))).toEqual(malformed('@context is missing'))
    expect(readCredentialObject(links(3, { ...good, parent: [] }))).toEqual(
      malformed('parent is not a signed credential'),
    )
    expect(readText(JSON.stringify(links(4, {})))).toEqual(tooDeep)
  })

  test.each<[string, string, JsonValue | undefined, object]>([
    [
      'parent',
      'parent/validUntil',
      undefined,
      malformed('validUntil is missing or not an RFC 3339 time in UTC with Z'),
    ],
    ['parent', 'parent/proof', {}, malformed('proof.type is missing')],
    ['parent', 'parent', {}, malformed('@context is missing')],
    [
      'grandparent',
      'parent/parent/credentialSubject/delegable',
      'true',
      malformed('credentialSubject.delegable is not true or false'),
    ],
    [
      'grandparent',
      'parent/parent/credentialStatus',
      {},
      unsupported('credentialStatus must be absent, because revocation works through this service'),
    ],
    [
      'root',
      'parent/parent/parent/credentialSubject/scope',
      'all',
      malformed('credentialSubject.scope is not a list of at most 32 different scopes'),
    ],
  ])('is rejected for the fault of its %s', (_, path, value, answer) => {
    expect(readCredentialObject(edited(chain[3] as JsonObject, (copy) => put(copy, path, value)))).toEqual(
      answer,
    )
  })
})
