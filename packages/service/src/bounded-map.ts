/**
 * A map with at most `capacity` entries. When it is full, the entries that were neither set nor
 * read with `get` for the longest time are dropped, half of the map at the same time. A hit
 * moves nothing as long as the entry is in the newer half.
 */
export class BoundedMap<Key, Value> {
  readonly #half: number
  #newer = new Map<Key, Value>()
  #older = new Map<Key, Value>()

  constructor(capacity: number) {
    this.#half = Math.max(1, Math.floor(capacity / 2))
  }

  /** Marks the entry as used. */
  get(key: Key): Value | undefined {
    const value = this.#newer.get(key)
    if (value !== undefined) return value
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  /** Does not mark the entry as used. */
  has(key: Key): boolean {
    return this.#newer.has(key) || this.#older.has(key)
  }

  set(key: Key, value: Value): void {
    if (this.#newer.size >= this.#half && !this.#newer.has(key)) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(key, value)
  }

  delete(key: Key): void {
    this.#newer.delete(key)
    this.#older.delete(key)
  }

  /** Deletes the entries for which `matches` is true. */
  deleteWhere(matches: (value: Value) => boolean): void {
    for (const half of [this.#newer, this.#older])
      for (const [key, value] of half) if (matches(value)) half.delete(key)
  }
}
