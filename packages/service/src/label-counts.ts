import { Counter, type CounterConfiguration } from 'prom-client'

/**
 * A counter with three labels. prom-client checks and hashes the labels each time something is
 * counted; here that happens when metrics are read.
 */
export class LabelCounts {
  readonly #counts = new Map<string, Map<string, Map<string, number>>>()

  constructor(options: Omit<CounterConfiguration<string>, 'collect'>) {
    const counts = this.#counts
    const [a = '', b = '', c = ''] = options.labelNames ?? []
    new Counter({
      ...options,
      collect() {
        this.reset()
        for (const [first, seconds] of counts)
          for (const [second, thirds] of seconds)
            for (const [third, count] of thirds) this.inc({ [a]: first, [b]: second, [c]: third }, count)
      },
    })
  }

  add(first: string, second: string, third: string): void {
    const thirds = this.#counts.get(first)?.get(second) ?? this.#start(first, second)
    thirds.set(third, (thirds.get(third) ?? 0) + 1)
  }

  #start(first: string, second: string): Map<string, number> {
    const thirds = new Map<string, number>()
    const seconds = this.#counts.get(first) ?? new Map<string, Map<string, number>>()
    this.#counts.set(first, seconds.set(second, thirds))
    return thirds
  }
}
