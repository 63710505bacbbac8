import { keyedHash } from './keyed-hash.ts'

/**
 * Two random 32-bit words. An attacker who knows them can make look-ups slow, so they never leave
 * the process.
 */
export type TableSeed = readonly [number, number]

/** What `get` answers for an id that is not in the table. */
export const ABSENT = -1

/**
 * A slot is four words: the two halves of the hash, then the number (low word, high word). Four
 * slots fill a cache line.
 */
const SLOT_WORDS = 4
const SLOTS_MIN = 8
const GROWTH = 1.5
const LOAD_MAX = 0.75
/**
 * Beyond this many ids the table is spread over parts that grow one at a time, so that no single
 * insertion has to move them all.
 */
const ONE_PART_MAX = 16_384
const PART_BITS = 8
const NUMBER_MAX = 2 ** 52

/**
 * A map from ids to whole numbers below 2^52 that keeps 64-bit keyed hashes instead of the ids: 22
 * to 32 bytes each, whatever their length. Two ids with one hash (2^-64 for each pair, and an
 * attacker cannot aim for it) share a number; for revocations that errs on the side of refusing.
 * Ids cannot be listed or removed, but tables of the same seed can be compared hash by hash.
 */
export class RevokedTable {
  readonly #key0: number
  readonly #key1: number
  readonly #idStart: number
  readonly #hash = new Int32Array(2)
  #parts: Part[] = [new Part()]
  #partShift = 0
  #size = 0

  /**
   * Ids are hashed from character `idStart` on; what comes before must be the same for all of them.
   */
  constructor(seed: TableSeed, idStart: number) {
    this.#key0 = seed[0] | 0
    this.#key1 = seed[1] | 0
    this.#idStart = idStart
  }

  get size(): number {
    return this.#size
  }

  /** In bytes, of the slots alone. */
  get byteLength(): number {
    return this.#parts.reduce((sum, part) => sum + part.slots.byteLength, 0)
  }

  /** The number set for this id, or `ABSENT`. Allocates nothing. */
  get(id: string): number {
    return this.#size === 0 ? ABSENT : this.#partOf(id).get(this.#hash[0] as number, this.#hash[1] as number)
  }

  set(id: string, value: number): void {
    this.#put(this.#partOf(id), value)
  }

  /** Sets the number unless a lower one is there. */
  setMin(id: string, value: number): void {
    const part = this.#partOf(id)
    const known = part.get(this.#hash[0] as number, this.#hash[1] as number)
    if (known === ABSENT || !(known <= value)) this.#put(part, value)
  }

  /** Every hash with its number, for comparisons with a table of the same seed. */
  forEach(visit: (low: number, high: number, value: number) => void): void {
    for (const part of this.#parts)
      part.forEach((low, high, valueLow, valueHigh) => {
        visit(low, high, (valueHigh >>> 0) * 0x1_0000_0000 + (valueLow >>> 0))
      })
  }

  /** `get` for an id of which only the hash is known. */
  getHashed(low: number, high: number): number {
    return this.#part(high).get(low, high)
  }

  /** `set` for an id of which only the hash is known. */
  setHashed(low: number, high: number, value: number): void {
    this.#hash[0] = low
    this.#hash[1] = high
    this.#put(this.#part(high), value)
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

  /** Leaves the hash of the id in `#hash` and gives the part where it belongs. */
  #partOf(id: string): Part {
    const hash = this.#hash
    keyedHash(id, this.#idStart, this.#key0, this.#key1, hash)
    // Two zero words mark an empty slot.
    if (hash[0] === 0 && hash[1] === 0) hash[0] = 1
    return this.#part(hash[1] as number)
  }

  #part(high: number): Part {
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
 * Open addressing with linear probing. The place comes from the low half of the hash; the part was
 * chosen by the high half.
 */
class Part {
  slots = new Int32Array(SLOTS_MIN * SLOT_WORDS)
  #count = 0

  /**
   * Multiply and shift instead of a mask: the number of slots need not be a power of two, so
   * growing can be gentler than doubling.
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

  /** True when the hash was not there before. */
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

  /** Where the hash stands, or the empty slot where it would. */
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
