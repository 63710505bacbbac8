import { type JsonValue, readJwt, type SiteId, type UnverifiedJwt } from '@countersign/core'
import type { SignalType } from '@countersign/core/contract'
import { beforeAll, describe, expect, test } from 'vitest'
import { readSignal } from '../../src/signals/read-signal.ts'
import { NOW } from '../party.ts'
import {
  ACCOUNT_DISABLED,
  ACCOUNT_ENABLED,
  goodToken,
  IDP,
  LOGOUT,
  newSigner,
  SESSION_REVOKED,
  type SignedToken,
  type TestSigner,
  VERIFICATION,
} from './test-sender.ts'

const SITE = 'shop.example' as SiteId
const AT = Math.floor(NOW / 1000)
const ALICE = { format: 'iss_sub', iss: IDP, sub: 'alice' }
let signer: TestSigner
beforeAll(async () => {
  signer = await newSigner()
})

async function read(type: SignalType, changes: SignedToken = {}, subject?: JsonValue) {
  const { header, claims } = goodToken(type, SITE, changes)
  const jwt = readJwt(await signer.sign(claims, header)) as UnverifiedJwt
  const read = readSignal(type, jwt, NOW, subject ?? (type === 'token_revocation' ? ALICE : undefined))
  return 'fault' in read ? read.fault : read
}

const TYPES = ['backchannel_logout', 'token_revocation', 'events'] as const

describe('a good signal', () => {
  test.each(TYPES)('of the type %s signs the user out', async (type) => {
    expect(await read(type)).toMatchObject({
      type,
      issuer: IDP,
      request: 'sign_out',
      subject: { subs: [{ issuer: IDP, sub: 'alice' }], emails: [] },
    })
  })

  test('a logout token may lack typ and exp', async () => {
    expect(
      await read('backchannel_logout', { header: { typ: undefined }, claims: { exp: undefined } }),
    ).toHaveProperty('jti')
    expect(await read('backchannel_logout', { header: { typ: 'JWT' } })).toHaveProperty('jti')
    expect(await read('backchannel_logout', { header: { typ: 'application/logout+jwt' } })).toHaveProperty(
      'jti',
    )
  })

  test('has the time of the event, at most ten seconds ahead', async () => {
    const at = async (details: object, claims: object = {}) => {
      const signal = await read('events', { claims: { events: { [SESSION_REVOKED]: details }, ...claims } })
      return typeof signal === 'string' ? signal : signal.atMs
    }
    expect(await at({ event_timestamp: AT - 60 })).toBe((AT - 60) * 1000)
    expect(await at({}, { toe: AT - 30 })).toBe((AT - 30) * 1000)
    expect(await at({})).toBe(AT * 1000)
    expect(await at({ event_timestamp: AT + 3600 })).toBe(NOW + 10_000)
    // Milliseconds by mistake are a time in the future.
    expect(await at({ event_timestamp: NOW })).toBe(NOW + 10_000)
    for (const wrong of ['soon', 0, -1]) expect(await at({ event_timestamp: wrong })).toMatch(/time/)
  })

  test('names its subject in any of the known formats', async () => {
    const names = async (sub_id: unknown) => {
      const signal = await read('events', { claims: { sub_id } })
      return typeof signal === 'string'
        ? signal
        : [signal.subject.subs.map(({ sub }) => sub), signal.subject.emails]
    }
    const email = { format: 'email', email: 'alice@shop.example' }
    expect(await names(ALICE)).toEqual([['alice'], []])
    expect(await names(email)).toEqual([[], ['alice@shop.example']])
    expect(await names({ format: 'complex', user: ALICE, device: { format: 'opaque', id: 'x' } })).toEqual([
      ['alice'],
      [],
    ])
    expect(await names({ user: ALICE, session: { format: 'opaque', id: 'x' } })).toEqual([['alice'], []])
    expect(await names({ format: 'aliases', identifiers: [ALICE, email] })).toEqual([
      ['alice'],
      ['alice@shop.example'],
    ])
    for (const none of [
      { format: 'opaque', id: 'alice' },
      { format: 'phone_number', phone_number: '+12065550100' },
      { format: 'iss_sub', iss: IDP, sub: '' },
      { format: 'iss_sub', iss: IDP, sub: 'x'.repeat(257) },
      { format: 'iss_sub', sub: 'alice' },
      { format: 'email', email: 7 },
      { format: 'complex', tenant: ALICE },
      { format: 'aliases', identifiers: Array(9).fill(ALICE) },
      { format: 'aliases', identifiers: [{ format: 'aliases', identifiers: [ALICE] }] },
      ['alice'],
      'alice',
    ])
      expect(await names(none), JSON.stringify(none)).toEqual([[], []])
  })

  test('an older event has its subject inside, and never two different ones', async () => {
    const events = { [SESSION_REVOKED]: { subject: ALICE } }
    expect(await read('events', { claims: { sub_id: undefined, events } })).toMatchObject({
      subject: { subs: [{ sub: 'alice' }] },
    })
    expect(await read('events', { claims: { events } })).toHaveProperty('jti')
    const bob = { ...ALICE, sub: 'bob' }
    expect(await read('events', { claims: { sub_id: bob, events } })).toMatch(/differ/)
  })

  test.each([ACCOUNT_ENABLED, VERIFICATION, 'https://example.com/event'])(
    'an event without an effect is only recorded: %s (A294)',
    async (name) => {
      expect(await read('events', { claims: { events: { [name]: { state: 'x' } } } })).toMatchObject({
        request: 'none',
        event: name,
      })
    },
  )
})

describe('is rejected', () => {
  test.each(TYPES)('a token of the type %s with a claim of an ID token (A284, A291)', async (type) => {
    for (const name of ['nonce', 'at_hash', 'c_hash', 's_hash'])
      expect(await read(type, { claims: { [name]: 'x' } }), name).toBe(`it must not have the claim ${name}`)
  })

  test.each([
    ['backchannel_logout', ['at+jwt', 'secevent+jwt', 'dpop+jwt', 'global-token-revocation+jwt', '']],
    ['token_revocation', ['at+jwt', 'secevent+jwt', 'logout+jwt', 'dpop+jwt']],
    ['events', [undefined, 'JWT', 'at+jwt', 'logout+jwt', 'secevent']],
  ] as const)('a %s with the typ of another token (A284, A292)', async (type, types) => {
    for (const typ of types) expect(await read(type, { header: { typ } }), typ).toMatch(/^typ must be/)
  })

  test('an access token, an ID token and an event as the token of a sender (A284)', async () => {
    for (const name of ['events', 'scope', 'scp', 'azp', 'client_id', 'auth_time', 'cnf'])
      expect(
        await read('token_revocation', { header: { typ: 'JWT' }, claims: { [name]: 'x' } }),
        name,
      ).toMatch(/must not have/)
  })

  test.each([
    undefined,
    'x',
    {},
    { [LOGOUT]: 'x' },
    { [LOGOUT]: {}, [ACCOUNT_DISABLED]: {} },
    { [ACCOUNT_DISABLED]: {} },
  ])('a logout with the events %j (A291)', async (events) => {
    expect(await read('backchannel_logout', { claims: { events } })).toMatch(/^events must have/)
  })

  test.each([
    [undefined, /exactly one/],
    [{}, /exactly one/],
    [{ [SESSION_REVOKED]: {}, [ACCOUNT_DISABLED]: {} }, /exactly one/],
    [{ [LOGOUT]: {} }, /not a security event/],
    [{ [SESSION_REVOKED]: 'x' }, /not a security event/],
    [{ 'with blanks': {} }, /not a security event/],
    [{ ['x'.repeat(257)]: {} }, /not a security event/],
  ])('an event with the events %j (A292)', async (events, fault) => {
    expect(await read('events', { claims: { events } })).toMatch(fault)
  })

  test('a logout that names no user and no session', async () => {
    expect(await read('backchannel_logout', { claims: { sub: undefined } })).toBe(
      'it has neither sub nor sid',
    )
    for (const name of ['sub', 'sid'])
      for (const value of ['', 7, 'x'.repeat(257)])
        expect(await read('backchannel_logout', { claims: { [name]: value } })).toMatch(/1 to 256/)
  })

  test.each(TYPES)('a %s without a proper jti or iss', async (type) => {
    for (const jti of [undefined, '', 7, 'x'.repeat(257), 'a b', 'a\u0000b', 'ä'])
      expect(await read(type, { claims: { jti } })).toMatch(/^jti must/)
    for (const iss of [undefined, 7, [IDP]]) expect(await read(type, { claims: { iss } })).toMatch(/^iss/)
  })

  test.each(TYPES)('a %s at the wrong time', async (type) => {
    for (const iat of [undefined, '1', 1.5, -1, 1e12])
      expect(await read(type, { claims: { iat } })).toMatch(/^iat must/)
    expect(await read(type, { claims: { iat: AT + 11 } })).toMatch(/future/)
    expect(await read(type, { claims: { iat: AT + 10 } })).toHaveProperty('jti')
    const week = 7 * 86_400
    expect(await read(type, { claims: { iat: AT - week - 1 } })).toMatch(/older/)
    for (const exp of [AT, AT - 1, 'later', AT + 0.5])
      expect(await read(type, { claims: { exp } })).toBe('it has expired')
    for (const nbf of [AT + 11, 'now']) expect(await read(type, { claims: { nbf } })).toMatch(/^nbf/)
  })

  test('a token of a sender that lives long', async () => {
    expect(await read('token_revocation', { claims: { exp: undefined } })).toBe('exp is missing')
    expect(await read('token_revocation', { claims: { exp: AT + 3600 } })).toHaveProperty('jti')
    expect(await read('token_revocation', { claims: { exp: AT + 3601 } })).toMatch(/longer/)
  })
})
