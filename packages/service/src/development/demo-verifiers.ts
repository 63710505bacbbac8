import { Problem } from '../problem.ts'

/** An application that follows the demo site, for people who look at the service. */
export interface DemoVerifier {
  readonly verifierId: string
  /** Its protected route. */
  readonly url: string
  close(): Promise<void>
}

/** Named after what an application of that kind would do. */
const NAMES = ['demo-orders', 'demo-payments', 'demo-search', 'demo-reports', 'demo-files', 'demo-mail']

/** The demo verifiers of a development start. They end with it. */
export class DemoVerifiers {
  readonly #open: (verifierId: string) => Promise<DemoVerifier>
  readonly #running = new Map<string, Promise<DemoVerifier>>()

  constructor(open: (verifierId: string) => Promise<DemoVerifier>) {
    this.#open = open
  }

  /** Starts the next one. Throws `rate_limited` when there are enough of them. */
  async start(): Promise<DemoVerifier> {
    const name = NAMES.find((each) => !this.#running.has(each))
    if (name === undefined)
      throw new Problem('rate_limited', `All ${NAMES.length} demo verifiers are running already.`)
    const opening = this.#open(name)
    this.#running.set(name, opening)
    opening.catch(() => this.#running.delete(name))
    return opening
  }

  /** Closes them while the service can still record that they left. */
  async close(): Promise<void> {
    const settled = await Promise.allSettled(this.#running.values())
    await Promise.allSettled(
      settled.map((each) => (each.status === 'fulfilled' ? each.value.close() : undefined)),
    )
  }
}
