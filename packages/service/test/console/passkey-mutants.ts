import type { AddPasskeyRequest, PasskeyAssertion } from '@countersign/core/contract'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { Random } from '../../../core/test/fuzz/random.ts'

type Created = Pick<AddPasskeyRequest, 'client_data' | 'attestation'>
type Members = Readonly<Record<string, unknown>>

const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const toBytes = (text: string) => Buffer.from(text, 'base64url')

/** One bit is another one. */
function flip(bytes: Uint8Array, at: number, random: Random): Buffer {
  const changed = Buffer.from(bytes)
  changed.writeUInt8(changed.readUInt8(at) ^ (1 << random.int(8)), at)
  return changed
}

const cut = (bytes: Uint8Array, random: Random) => Buffer.from(bytes.subarray(0, random.int(bytes.length)))

/** What says something else than a browser said, so that no response with it is valid. */
function changeClientData(text: string, type: string, random: Random): string {
  const said = JSON.parse(toBytes(text).toString()) as { challenge: string; origin: string }
  const change = (members: Members) => toText(Buffer.from(JSON.stringify({ ...said, ...members })))
  const { challenge, origin } = said
  return random.pick([
    () => toText(cut(toBytes(text), random)) || 'AA',
    () => toText(Buffer.concat([toBytes(text), Buffer.from(random.pick(['x', '{}', '\0', '"']))])),
    () => toText(Buffer.from([0xff, 0xfe, ...toBytes(text)])),
    () =>
      toText(Buffer.from(random.pick(['null', '[]', '7', '"x"', '{}', '[{}]', '{"challenge":null}', '{']))),
    () => toText(Buffer.from(`[`.repeat(2000))),
    () =>
      change({
        type: random.pick([undefined, null, '', type.toUpperCase(), `${type} `, 'webauthn.other', 7]),
      }),
    () =>
      change({
        challenge: random.pick([undefined, null, '', 7, [challenge], `${challenge}A`, challenge.slice(1)]),
      }),
    () =>
      change({ challenge: toText(flip(toBytes(challenge), random.int(toBytes(challenge).length), random)) }),
    () =>
      change({
        origin: random.pick([
          ...[undefined, null, '', 7, 'null', `${origin}/`, `${origin}:443`, `${origin}.evil.example`],
          ...[origin.replace('https', 'http'), origin.toUpperCase(), `https://evil.example#${origin}`],
          ...[origin.replace('//', '//a@'), origin.replace('id.', 'xn--id-.'), `${origin}\u0000`],
        ]),
      }),
    () => change({ crossOrigin: random.pick([true, 'false', 'true', 1, 0, null, [], {}]) }),
  ])()
}

/** Bytes that a parser of CBOR must survive, with and without an end. */
const HOSTILE: readonly Buffer[] = [
  ...['', '00', 'f6', 'f97e00', 'ff', '80', 'a0', 'a1', '40', '60', 'c0', 'd9d9f7a0', '1bffffffffffffffff'],
  ...['5bffffffffffffffff', '9bffffffffffffffff', 'bbffffffffffffffff', '7bffffffffffffffff', '5affffffff00'],
  ...[
    '5f',
    '9f',
    'bf',
    '7f',
    'bfffff',
    'a3',
    'fb7ff8000000000000',
    'a1636d6f6763',
    '1c',
    '3bffffffffffffffff',
  ],
].map((hex) => Buffer.from(hex, 'hex'))
const NESTED = [0x81, 0xa1, 0xc1, 0x9f].map((head) => Buffer.alloc(4000, head))

function encode(members: readonly (readonly [string, unknown])[]): Buffer {
  return Buffer.from(isoCBOR.encode(new Map(members) as never))
}

const AT = { rpId: 0, flags: 32, idLength: 53, id: 55 } as const

/** Where a changed bit makes a registration invalid. Nothing signs the other bytes. */
function findBinding(authData: Buffer, random: Random): number {
  const keyAt = AT.id + authData.readUInt16BE(AT.idLength)
  return random.pick([
    AT.rpId + random.int(32),
    AT.idLength,
    // The coordinates of a point on P-256: their heads have three bytes each, and are the last.
    authData.length - 1 - random.int(32),
    authData.length - 36 - random.int(32),
    // The map, the type of the key, its algorithm and its curve.
    keyAt + random.int(7),
  ])
}

/** A registration that is not the one that the authenticator has made, and must not be accepted. */
export function alterCreated(made: Created, random: Random): Created {
  const object = isoCBOR.decodeFirst<Map<string, unknown>>(new Uint8Array(toBytes(made.attestation)))
  const authData = Buffer.from(object.get('authData') as Uint8Array)
  const withData = (changed: Uint8Array) =>
    toText(
      encode([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', new Uint8Array(changed)],
      ]),
    )
  const attestation = random.pick([
    () => toText(cut(toBytes(made.attestation), random)) || 'AA',
    () => toText(random.pick(HOSTILE)) || 'AA',
    () => toText(random.pick(NESTED)),
    () => withData(random.pick([...HOSTILE, ...NESTED])),
    () => withData(cut(authData, random)),
    () => withData(Buffer.concat([authData, Buffer.alloc(1 + random.int(40), random.int(256))])),
    () => withData(flip(authData, findBinding(authData, random), random)),
    // Without a person, without their verification, or without a key.
    () =>
      withData(
        Buffer.from(authData.map((byte, at) => (at === AT.flags ? byte & ~random.pick([1, 4, 64]) : byte))),
      ),
    // Extensions that are not there.
    () => withData(Buffer.from(authData.map((byte, at) => (at === AT.flags ? byte | 128 : byte)))),
    // A key that is other CBOR.
    () =>
      withData(
        Buffer.concat([
          authData.subarray(0, AT.id + authData.readUInt16BE(AT.idLength)),
          random.pick([...HOSTILE, ...NESTED]),
        ]),
      ),
    () =>
      toText(
        encode(
          random.pick<readonly (readonly [string, unknown])[]>([
            [['fmt', 'none']],
            [
              ['fmt', 'none'],
              ['attStmt', new Map()],
            ],
            [
              ['attStmt', new Map()],
              ['authData', new Uint8Array(authData)],
            ],
            [
              ['fmt', random.pick([7, null, true, 'None', 'packed', 'android-safetynet', 'x'.repeat(999)])],
              ['attStmt', new Map()],
              ['authData', new Uint8Array(authData)],
            ],
            [
              ['fmt', 'none'],
              ['attStmt', random.pick<unknown>([7, null, 'x', new Map([['x5c', []]])])],
              ['authData', new Uint8Array(authData)],
            ],
            [
              ['fmt', 'none'],
              ['attStmt', new Map()],
              ['authData', random.pick<unknown>([7, null, 'x', new Map(), []])],
            ],
          ]),
        ),
      ),
  ])
  return random.oneIn(3)
    ? { ...made, client_data: changeClientData(made.client_data, 'webauthn.create', random) }
    : { ...made, attestation: attestation() }
}

/** An assertion that the authenticator has not signed like this. */
export function alterAssertion(made: PasskeyAssertion, random: Random): PasskeyAssertion {
  const name = random.pick([
    'authenticator_data',
    'signature',
    'client_data',
    'credential_id',
    'user_handle',
  ] as const)
  const bytes = toBytes(made[name])
  const change = (changed: Uint8Array) => ({ ...made, [name]: toText(changed) || 'AA' })
  return random.pick([
    () => change(flip(bytes, random.int(bytes.length), random)),
    () => change(cut(bytes, random)),
    () => change(Buffer.concat([bytes, Buffer.alloc(1 + random.int(9), random.int(256))])),
    () => change(random.pick([...HOSTILE.slice(1), ...NESTED])),
    () => ({ ...made, client_data: changeClientData(made.client_data, 'webauthn.get', random) }),
    () => ({ ...made, signature: made.authenticator_data }),
    // The same bytes in another text.
    () => ({ ...made, [name]: `${made[name]}${random.pick(['=', '==', '\n', ' ', '.', '%'])}` }),
  ])()
}

/** A member of the body that is no text, or is not there, or one too many. */
export function alterBody(made: Members, random: Random): Members {
  const name = random.pick(Object.keys(made))
  return random.pick([
    () => ({ ...made, [name]: random.pick<unknown>([null, 7, true, [], {}, [made[name]], '']) }),
    () => Object.fromEntries(Object.entries(made).filter(([each]) => each !== name)),
    () => ({ ...made, [`${name}_`]: made[name] }),
  ])()
}
