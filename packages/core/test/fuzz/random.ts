/**
 * A seeded generator (xorshift with a Weyl sequence): the same seed gives the same run on every
 * machine.
 */
export interface Random {
  /** An integer from 0 to `below` - 1. */
  int(below: number): number
  pick<T>(list: readonly T[]): T
  /** True about once in `n` times. */
  oneIn(n: number): boolean
}

export function createRandom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1
  let counter = 0
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    counter = (counter + 362_437) | 0
    return ((state >>> 0) + counter) >>> 0
  }
  const int = (below: number) => next() % below
  return { int, pick: (list) => list[int(list.length)] as never, oneIn: (n) => int(n) === 0 }
}
