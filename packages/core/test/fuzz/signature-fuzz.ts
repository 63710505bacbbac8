import { createHash } from 'node:crypto'
import type { Crypto } from '../../src/proof/crypto-port.ts'
import type { PublicKey } from '../../src/proof/keys.ts'
import { BASE, decodeNumber, encodeNumber, encodePoint, L, LOW_ORDER, plus, times } from './edwards.ts'
import { createRandom, type Random } from './random.ts'

type Verify = Crypto['verify']

interface Signed {
  readonly key: Uint8Array
  readonly data: Uint8Array
  readonly signature: Uint8Array
}

export interface SignatureFuzzReport {
  readonly tried: number
  /** Inputs to which the verifiers gave different answers. */
  readonly disagreements: readonly {
    readonly kind: string
    readonly seed: number
    readonly answers: string
  }[]
  /** How many inputs of each kind all of them accepted and rejected. */
  readonly answers: Readonly<Record<string, { accepted: number; rejected: number }>>
}

/**
 * Gives the same Ed25519 signatures to several verifiers: good ones, damaged ones, and ones that
 * only the owner of a private key can construct, where libraries are known to differ.
 */
export async function fuzzSignatures(options: {
  count: number
  seed: number
  verifiers: Readonly<Record<string, Verify>>
  onProgress?: (done: number) => void
}): Promise<SignatureFuzzReport> {
  const { count, seed, verifiers, onProgress } = options
  const pools = createPools(createRandom(seed))
  const kinds = Object.keys(KINDS)
  const disagreements: SignatureFuzzReport['disagreements'][number][] = []
  const answers: Record<string, { accepted: number; rejected: number }> = {}
  for (let i = 0; i < count; i++) {
    const random = createRandom(seed + i)
    const kind = kinds[i % kinds.length] as string
    const { key, data, signature } = (KINDS[kind] as Kind)(pools, random)
    const publicKey: PublicKey = { algorithm: 'Ed25519', bytes: key, multikey: 'z' }
    const given = new Map<string, boolean>()
    for (const [name, verify] of Object.entries(verifiers))
      given.set(name, await verify(publicKey, data, signature))
    const isAccepted = [...given.values()][0] === true
    answers[kind] ??= { accepted: 0, rejected: 0 }
    if (new Set(given.values()).size > 1)
      disagreements.push({ kind, seed: seed + i, answers: JSON.stringify(Object.fromEntries(given)) })
    else answers[kind][isAccepted ? 'accepted' : 'rejected']++
    onProgress?.(i + 1)
  }
  return { tried: count, disagreements, answers }
}

type Kind = (pools: Pools, random: Random) => Signed
type Pools = ReturnType<typeof createPools>

const KINDS: Readonly<Record<string, Kind>> = {
  good: ({ good }, random) => random.pick(good),
  'a bit of the signature': ({ good }, random) => flip(random.pick(good), 'signature', random),
  'a bit of the data': ({ good }, random) => flip(random.pick(good), 'data', random),
  'a bit of the key': ({ good }, random) => flip(random.pick(good), 'key', random),
  'S and a multiple of L': ({ good }, random) => {
    const signed = random.pick(good)
    const s = decodeNumber(signed.signature.subarray(32)) + L * BigInt(random.int(16))
    return withSignature(signed, signed.signature.subarray(0, 32), encodeNumber(s))
  },
  'the key of another': ({ good }, random) => ({ ...random.pick(good), key: random.pick(good).key }),
  'the R of another': ({ good }, random) => {
    const signed = random.pick(good)
    return withSignature(signed, random.pick(good).signature.subarray(0, 32), signed.signature.subarray(32))
  },
  'another length': ({ good }, random) => {
    const signed = random.pick(good)
    return { ...signed, signature: signed.signature.subarray(0, random.int(64)) }
  },
  'bytes by chance': ({ good }, random) => {
    const bytes = Uint8Array.from({ length: 64 }, () => random.int(256))
    return { ...random.pick(good), signature: bytes }
  },
  'R of low order': ({ lowR }, random) => random.pick(lowR),
  'R and a point of low order': ({ mixedR }, random) => random.pick(mixedR),
  'a key and a point of low order': ({ mixedKey }, random) => random.pick(mixedKey),
  'a key of low order': ({ lowKey }, random) => random.pick(lowKey),
  'a key or an R in a second encoding': ({ second }, random) => random.pick(second),
}

/** Signatures that satisfy the equation, or would without one detail. */
function createPools(random: Random) {
  const some = <T>(create: (i: number) => T) => Array.from({ length: 32 }, (_, i) => create(i))
  const scalar = () => decodeNumber(Uint8Array.from({ length: 32 }, () => random.int(256))) % L
  const low = (i: number) => LOW_ORDER[i % 8] as (typeof LOW_ORDER)[number]
  const noLow = LOW_ORDER[0] as (typeof LOW_ORDER)[number]
  const sign = (a: bigint, keyPart = noLow, r = scalar(), rPart = noLow, shift = 0n): Signed => {
    const data = Uint8Array.from({ length: random.int(200) }, () => random.int(256))
    const key = encodePoint(plus(times(BASE, a), keyPart), shift)
    const R = encodePoint(plus(times(BASE, r), rPart), shift)
    const hash = createHash('sha512').update(R).update(key).update(data).digest()
    const h = decodeNumber(hash)
    return { key, data, signature: concat(R, encodeNumber((r + h * a) % L)) }
  }
  return {
    good: some(() => sign(scalar())),
    lowR: some((i) => sign(scalar(), noLow, 0n, low(i))),
    mixedR: some((i) => sign(scalar(), noLow, scalar(), low(i))),
    mixedKey: some((i) => sign(scalar(), low(i), scalar(), low(i >> 3))),
    lowKey: some((i) => sign(0n, low(i), i < 16 ? scalar() : 0n, low(i >> 3))),
    second: some((i) => sign(i < 16 ? scalar() : 0n, low(i), i % 2 ? scalar() : 0n, low(i >> 3), 1n)),
  }
}

function flip(signed: Signed, part: keyof Signed, random: Random): Signed {
  const bytes = Uint8Array.from(signed[part])
  if (bytes.length === 0) return signed
  const at = random.int(bytes.length)
  bytes[at] = (bytes[at] as number) ^ (1 << random.int(8))
  return { ...signed, [part]: bytes }
}

function withSignature(signed: Signed, R: Uint8Array, s: Uint8Array): Signed {
  return { ...signed, signature: concat(R, s) }
}

function concat(one: Uint8Array, other: Uint8Array): Uint8Array {
  return Uint8Array.from([...one, ...other])
}
