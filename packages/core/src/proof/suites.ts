import type { KeyAlgorithm } from './keys.ts'

/** A Data Integrity cryptosuite with canonical JSON and SHA-256. */
export interface Suite {
  readonly name: string
  readonly algorithm: KeyAlgorithm
  /** In bytes. */
  readonly signatureLength: number
}

/** The supported suites. A new suite is a new row. */
export const suites: readonly Suite[] = [
  { name: 'eddsa-jcs-2022', algorithm: 'Ed25519', signatureLength: 64 },
  { name: 'ecdsa-jcs-2019', algorithm: 'P-256', signatureLength: 64 },
]

export function findSuite(name: unknown): Suite | undefined {
  return suites.find((suite) => suite.name === name)
}

/** The suite for signing with this algorithm. */
export function requireSuite(algorithm: KeyAlgorithm): Suite {
  const suite = suites.find((row) => row.algorithm === algorithm)
  if (suite === undefined) throw new TypeError(`no cryptosuite signs with ${algorithm}`)
  return suite
}
