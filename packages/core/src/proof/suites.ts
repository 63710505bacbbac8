import type { KeyAlgorithm } from './keys.ts'

/**
 * A Data Integrity cryptosuite over canonical JSON. Both rows hash with SHA-256 and differ only in
 * the key.
 */
export interface Suite {
  readonly name: string
  readonly algorithm: KeyAlgorithm
  /** In bytes. */
  readonly signatureLength: number
}

/** The suites that are spoken here. A new one is a new row. */
export const suites: readonly Suite[] = [
  { name: 'eddsa-jcs-2022', algorithm: 'Ed25519', signatureLength: 64 },
  { name: 'ecdsa-jcs-2019', algorithm: 'P-256', signatureLength: 64 },
]

/** Undefined for a name that is not in the table, spelled exactly so. */
export function findSuite(name: unknown): Suite | undefined {
  return suites.find((suite) => suite.name === name)
}

/** The suite in which a key of this kind signs. */
export function requireSuite(algorithm: KeyAlgorithm): Suite {
  const suite = suites.find((row) => row.algorithm === algorithm)
  if (suite === undefined) throw new TypeError(`no cryptosuite signs with ${algorithm}`)
  return suite
}
