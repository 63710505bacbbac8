import type { DeflatedText } from './deflated-text.ts'

/**
 * Parts of a text that is being made. Readers get each part as soon as it is there, so that a
 * connection is not idle while a long text is made.
 */
export class GrowingParts {
  readonly #parts: DeflatedText[] = []
  /** The parts before these. */
  #before: GrowingParts | undefined
  #wake = Promise.withResolvers<void>()
  #end: { readonly fault: unknown } | undefined

  constructor(before?: GrowingParts) {
    this.#before = before
  }

  add(part: DeflatedText): void {
    this.#parts.push(part)
    this.#wakeReaders()
  }

  /** There are no more parts. With a fault, readers get that after the last one. */
  end(fault?: unknown): void {
    this.#end = { fault }
    this.#wakeReaders()
  }

  #wakeReaders(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  async *read(): AsyncGenerator<DeflatedText> {
    if (this.#before !== undefined) yield* this.#before.read()
    for (let i = 0; ; i++) {
      while (i >= this.#parts.length) {
        if (this.#end?.fault !== undefined) throw this.#end.fault
        if (this.#end !== undefined) return
        await this.#wake.promise
      }
      yield this.#parts[i] as DeflatedText
    }
  }
}
