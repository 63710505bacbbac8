/** The open feeds of a test service. */
export class TestFollowers {
  readonly #controllers = new Set<ReadableStreamDefaultController<Uint8Array>>()

  get size(): number {
    return this.#controllers.size
  }

  /** A feed that begins with this text. It ends when the signal says so. */
  open(first: string, signal: AbortSignal | null | undefined): ReadableStream<Uint8Array> {
    const controllers = this.#controllers
    let own: ReadableStreamDefaultController<Uint8Array> | undefined
    return new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller
        controllers.add(controller)
        signal?.addEventListener('abort', () => {
          if (controllers.delete(controller)) controller.error(signal.reason)
        })
        controller.enqueue(encoder.encode(first))
      },
      cancel() {
        if (own !== undefined) controllers.delete(own)
      },
    })
  }

  broadcast(text: string): void {
    for (const controller of this.#controllers) controller.enqueue(encoder.encode(text))
  }

  /** Every reader notices. */
  breakAll(): void {
    for (const controller of this.#controllers) controller.error(new TypeError('the connection was cut'))
    this.forgetAll()
  }

  /** No reader notices: connections stay open, but nothing arrives. */
  forgetAll(): void {
    this.#controllers.clear()
  }
}

const encoder = new TextEncoder()
