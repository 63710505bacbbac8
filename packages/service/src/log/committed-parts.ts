import type { CommittedPart } from '../store/committed-part.ts'

/** What this process has committed and its tail has not taken yet. */
export class CommittedParts {
  #parts: CommittedPart[] = []
  #end = 0

  add(part: CommittedPart): void {
    this.#parts.push(part)
    this.#end = Math.max(this.#end, part.end.position)
    const count = this.#parts.reduce((sum, { entries }) => sum + entries.length, 0)
    if (count > ENTRIES_MAX) this.#parts = []
  }

  clear(): void {
    this.#parts = []
    this.#end = 0
  }

  /**
   * Whether the position is at most that of the last entry that was added. Then the tail has been
   * woken for it, and may have taken it already.
   */
  reaches(position: number): boolean {
    return position <= this.#end
  }

  /**
   * The part that continues the log after this position, with at most `max` entries. Undefined when
   * there is none: entries of other nodes come first, or nothing was committed since.
   */
  takeAfter(position: number, max: number): CommittedPart | undefined {
    this.#parts = this.#parts.filter(({ end }) => end.position > position)
    const index = this.#parts.findIndex(({ entries }) => entries[0]?.position === position + 1)
    const found = this.#parts[index]
    if (found === undefined || found.entries.length > max) return undefined
    this.#parts.splice(index, 1)
    return found
  }
}

/** The tail reads these entries from the store if it is so far behind. */
const ENTRIES_MAX = 2000
