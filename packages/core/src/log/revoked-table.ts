import { keyedHash } from './keyed-hash.ts'

/**
 * Two random 32-bit words. They never leave the process: an attacker who knows them can make
 * look-ups slow.
 */
export type TableSeed = readonly [number, number]

export function createTableSeed(): TableSeed {
  const [low = 0, high = 0] = globalThis.crypto.getRandomValues(new Uint32Array(2))
  return [low, high]
}

/** `get` returns this for an id that is not in the table. */
export const ABSENT = -1

/**
 * Each slot has four words: two for the hash, then the low and the high word of the number. Four
 * slots fill a cache line.
 */
const SLOT_WORDS = 4
const SLOTS_MIN = 8
const GROWTH = 1.5
const LOAD_MAX = 0.75
/**
 * Larger tables are divided into parts that grow one at a time, so that no insertion moves the
 * whole table.
 */
const ONE_PART_MAX = 16_384
const PART_BITS = 8
const NUMBER_MAX = 2 ** 52

/**
 * A map from ids to whole numbers below 2^52 that stores 64-bit keyed hashes instead of the ids: 22
 * to 32 bytes per id of any length. Two ids with the same hash share a number, which denies one of
 * them by mistake. The probability is 2^-64 per pair, and an attacker cannot search for collisions.
 * Ids cannot be listed or removed, but tables with the same seed can be compared by hash.
 */
export class RevokedTable {
  readonly #key0: number
  readonly #key1: number
  readonly #idStart: number
  readonly #hash = new Int32Array(2)
  #parts: Part[] = [new Part()]
  #partShift = 0
  #size = 0

  /** Hashes ids from character `idStart`; the characters before it must be the same in all ids. */
  constructor(seed: TableSeed, idStart: number) {
    this.#key0 = seed[0] | 0
    this.#key1 = seed[1] | 0
    this.#idStart = idStart
  }

  get size(): number {
    return this.#size
  }

  /** The size of the slots in bytes. */
  get byteLength(): number {
    return this.#parts.reduce((sum, part) => sum + part.slots.byteLength, 0)
  }

  /** The number of this id, or `ABSENT`. Allocates nothing. */
  get(id: string): number {
    return this.#size === 0
      ? ABSENT
      : this.#selectPart(id).get(this.#hash[0] as number, this.#hash[1] as number)
  }

  set(id: string, value: number): void {
    this.#put(this.#selectPart(id), value)
  }

  /** Sets the number unless the table has a lower one. */
  setMin(id: string, value: number): void {
    const part = this.#selectPart(id)
    const known = part.get(this.#hash[0] as number, this.#hash[1] as number)
    if (known === ABSENT || !(known <= value)) this.#put(part, value)
  }

  /** Visits every hash with its number, for a comparison with a table of the same seed. */
  forEach(visit: (low: number, high: number, value: number) => void): void {
    for (const part of this.#parts)
      part.forEach((low, high, valueLow, valueHigh) => {
        visit(low, high, (valueHigh >>> 0) * 0x1_0000_0000 + (valueLow >>> 0))
      })
  }

  /** `get` by hash. */
  getHashed(low: number, high: number): number {
    return this.#partAt(high).get(low, high)
  }

  /** `set` by hash. */
  setHashed(low: number, high: number, value: number): void {
    this.#hash[0] = low
    this.#hash[1] = high
    this.#put(this.#partAt(high), value)
  }

  #put(part: Part, value: number): void {
    if (!Number.isSafeInteger(value) || value < 0 || value >= NUMBER_MAX)
      throw new TypeError(`a table cannot hold ${value}`)
    const added = part.put(
      this.#hash[0] as number,
      this.#hash[1] as number,
      value | 0,
      Math.floor(value / 0x1_0000_0000),
    )
    if (!added) return
    this.#size++
    if (this.#size > ONE_PART_MAX && this.#parts.length === 1) this.#spread()
  }

  /** Writes the hash of the id to `#hash` and returns the part for it. */
  #selectPart(id: string): Part {
    const hash = this.#hash
    keyedHash(id, this.#idStart, this.#key0, this.#key1, hash)
    // Two zero words mark an empty slot.
    if (hash[0] === 0 && hash[1] === 0) hash[0] = 1
    return this.#partAt(hash[1] as number)
  }

  #partAt(high: number): Part {
    return this.#parts[this.#partShift === 0 ? 0 : high >>> this.#partShift] as Part
  }

  #spread(): void {
    const [whole] = this.#parts as [Part]
    this.#partShift = 32 - PART_BITS
    this.#parts = Array.from({ length: 2 ** PART_BITS }, () => new Part())
    whole.forEach((low, high, valueLow, valueHigh) => {
      this.#parts[high >>> this.#partShift]?.put(low, high, valueLow, valueHigh)
    })
  }
}

/**
 * A hash table with linear probing. The high half of the hash selects the part, the low half the
 * slot.
 */
class Part {
  slots = new Int32Array(SLOTS_MIN * SLOT_WORDS)
  #count = 0

  /**
   * Multiplies instead of masking, so the number of slots can grow by less than a factor of two.
   */
  #home(low: number): number {
    return Math.floor(((low >>> 0) * (this.slots.length / SLOT_WORDS)) / 0x1_0000_0000) * SLOT_WORDS
  }

  get(low: number, high: number): number {
    const slots = this.slots
    for (let at = this.#home(low); ; ) {
      const slotLow = slots[at] as number
      const slotHigh = slots[at + 1] as number
      if (slotLow === low && slotHigh === high)
        return ((slots[at + 3] as number) >>> 0) * 0x1_0000_0000 + ((slots[at + 2] as number) >>> 0)
      if (slotLow === 0 && slotHigh === 0) return ABSENT
      at += SLOT_WORDS
      if (at === slots.length) at = 0
    }
  }

  /** Returns true if the hash is new. */
  put(low: number, high: number, valueLow: number, valueHigh: number): boolean {
    let at = this.#find(low, high)
    const added = this.slots[at] === 0 && this.slots[at + 1] === 0
    if (added) {
      this.#count++
      if (this.#count * SLOT_WORDS > this.slots.length * LOAD_MAX) {
        this.#grow()
        at = this.#find(low, high)
      }
    }
    const slots = this.slots
    slots[at] = low
    slots[at + 1] = high
    slots[at + 2] = valueLow
    slots[at + 3] = valueHigh
    return added
  }

  forEach(visit: (low: number, high: number, valueLow: number, valueHigh: number) => void): void {
    const slots = this.slots
    for (let at = 0; at < slots.length; at += SLOT_WORDS) {
      if (slots[at] === 0 && slots[at + 1] === 0) continue
      visit(slots[at] as number, slots[at + 1] as number, slots[at + 2] as number, slots[at + 3] as number)
    }
  }

  /** The slot of this hash, or the empty slot for it. */
  #find(low: number, high: number): number {
    const slots = this.slots
    let at = this.#home(low)
    while ((slots[at] !== low || slots[at + 1] !== high) && (slots[at] !== 0 || slots[at + 1] !== 0)) {
      at += SLOT_WORDS
      if (at === slots.length) at = 0
    }
    return at
  }

  #grow(): void {
    const old = this.slots
    this.slots = new Int32Array(Math.ceil((old.length / SLOT_WORDS) * GROWTH) * SLOT_WORDS)
    const slots = this.slots
    for (let from = 0; from < old.length; from += SLOT_WORDS) {
      const low = old[from] as number
      const high = old[from + 1] as number
      if (low === 0 && high === 0) continue
      const at = this.#find(low, high)
      slots[at] = low
      slots[at + 1] = high
      slots[at + 2] = old[from + 2] as number
      slots[at + 3] = old[from + 3] as number
    }
  }
}
