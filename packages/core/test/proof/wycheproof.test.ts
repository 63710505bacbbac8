import { describe, expect, test } from 'vitest'
import { compressP256 } from '../../src/proof/curves.ts'
import {
  type KeyAlgorithm,
  type PublicKey,
  publicKeyFromBytes,
  publicKeyToJwk,
} from '../../src/proof/keys.ts'
import { readJsonVector, unhex } from '../vectors.ts'
import { backends } from './backends.ts'

interface Case {
  readonly tcId: number
  readonly comment: string
  readonly msg: string
  readonly sig: string
  readonly result: 'valid' | 'invalid' | 'acceptable'
}
interface Group<Key> {
  readonly publicKey: Key
  readonly publicKeyJwk?: object
  readonly tests: readonly Case[]
}
interface File<Key> {
  readonly numberOfTests: number
  readonly testGroups: readonly Group<Key>[]
}

const ed25519 = readJsonVector<File<{ pk: string }>>('wycheproof/ed25519_test.json')
const p256 = readJsonVector<File<{ uncompressed: string }>>(
  'wycheproof/ecdsa_secp256r1_sha256_p1363_test.json',
)

function ed25519Key({ pk }: { pk: string }): PublicKey | undefined {
  return publicKeyFromBytes('Ed25519', unhex(pk))
}

function p256Key({ uncompressed }: { uncompressed: string }): PublicKey | undefined {
  const point = unhex(uncompressed)
  const compressed = compressP256(point.subarray(1, 33), point.subarray(33))
  return compressed && publicKeyFromBytes('P-256', compressed)
}

function suite<Key>(
  name: KeyAlgorithm,
  file: File<Key>,
  findKey: (key: Key) => PublicKey | undefined,
  count: number,
) {
  describe.each(backends.map((backend) => [backend.ed25519Library, backend] as const))(
    `Wycheproof ${name} with %s`,
    (_, backend) => {
      test(`gives the expected answer to all ${count} cases`, async () => {
        const wrong: string[] = []
        let seen = 0
        for (const group of file.testGroups) {
          const key = findKey(group.publicKey)
          expect(key, 'every key of these files is a good one').toBeDefined()
          for (const { tcId, comment, msg, sig, result } of group.tests) {
            seen++
            const accepted = await backend.verify(key as PublicKey, unhex(msg), unhex(sig))
            if (accepted !== (result === 'valid')) wrong.push(`${tcId}: ${comment}`)
          }
        }
        expect(wrong).toEqual([])
        expect(seen).toBe(count)
        expect(file.numberOfTests).toBe(count)
      })
    },
  )

  test(`Wycheproof ${name}: the keys have the JWKs that the files say`, () => {
    const jwks = file.testGroups.filter((group) => group.publicKeyJwk !== undefined)
    expect(jwks.length).toBeGreaterThan(0)
    for (const { publicKey, publicKeyJwk } of jwks)
      expect(publicKeyJwk).toMatchObject(publicKeyToJwk(findKey(publicKey) as PublicKey))
  })
}

suite('Ed25519', ed25519, ed25519Key, 151)
suite('P-256', p256, p256Key, 262)
