import type { CommittedPart } from '../store/committed-part.ts'

/** What this process has committed and its tail has not given yet, in the order of the log. */
export class CommittedParts {
  #parts: CommittedPart[] = []
  #end = 0

  add(part: CommittedPart): void {
    this.#parts.push(part)
    this.#end = Math.max(this.#end, part.end.position)
    if (this.#parts.length > PARTS_MAX) this.#parts = []
  }

  clear(): void {
    this.#parts = []
    this.#end = 0
  }

  /**
   * Whether the entry at this position was added, so that the tail need not be woken for it. It may
   * have taken it already.
   */
  has(position: number): boolean {
    return position <= this.#end
  }

  /**
   * The part that continues the log after this position. Undefined when there is none: entries of
   * other nodes come first, or nothing was committed since.
   */
  takeAfter(position: number): CommittedPart | undefined {
    this.#parts = this.#parts.filter(({ end }) => end.position > position)
    const index = this.#parts.findIndex(({ entries }) => entries[0]?.position === position + 1)
    return index < 0 ? undefined : this.#parts.splice(index, 1)[0]
  }
}

/** The tail reads these entries from the store if it is so far behind. */
const PARTS_MAX = 1000
