import { type Measured, type MeasureOptions, measure, QUIET, quantile, type Subject } from './measure.ts'
import { type Load, type ServerProcess, startServer } from './processes.ts'
import { required } from './sample.ts'

const CONNECTIONS = 64

export interface HttpRow extends Measured {
  /** Against what its ratio stands. */
  readonly unit: string
  /**
   * Of the server's process with all its threads, for one request: what the quickest tenth of the
   * rounds stays below.
   */
  readonly cpuUs: number
  /** Of that what the unit needs: least at the mercy of what else the machine does. */
  readonly cpuRatio: number
}

export interface StageOptions {
  readonly onProgress?: (what: string, done: number, all: number) => void
  readonly measure?: Omit<MeasureOptions, 'onRound'>
}

export interface CountedSubject extends Subject {
  /** What one request took of the processor, in each run so far. */
  readonly cpuUs: number[]
}

/** The servers and the sender of one comparison. */
export class Stage {
  readonly #load: Load
  readonly #options: StageOptions
  readonly #running: { stop(): Promise<void> }[] = []

  constructor(load: Load, options: StageOptions) {
    this.#load = load
    this.#options = options
    this.#running.push(load)
  }

  start: typeof startServer = async (name, options) => {
    const server = await startServer(name, options)
    this.#running.push(server)
    return server
  }

  async subject(
    name: string,
    server: ServerProcess,
    requests: readonly string[],
    note = '',
    once = false,
  ): Promise<CountedSubject> {
    const target = await this.#load.target({
      port: server.ready.port,
      connections: CONNECTIONS,
      requests,
      once,
    })
    const cpuUs: number[] = []
    return {
      name,
      note,
      cpuUs,
      async run(times) {
        const before = await server.usage()
        const { count } = await target.run(times)
        cpuUs.push(((await server.usage()).cpuUs - before.cpuUs) / count)
      },
    }
  }

  async compare(unit: CountedSubject, others: readonly CountedSubject[]): Promise<HttpRow[]> {
    const { onProgress, measure: options } = this.#options
    const all = [unit, ...others]
    const onRound = (done: number, rounds: number) => {
      // Up to here the code was being compiled.
      if (done === 0) for (const { cpuUs } of all) cpuUs.length = 0
      onProgress?.(`requests beside ${unit.name}, round`, done, rounds)
    }
    const measured = await measure(unit, all, {
      rounds: 15,
      sliceMs: 120,
      warmUpMs: 1200,
      ...options,
      onRound,
    })
    const quietCpuUs = ({ cpuUs }: CountedSubject) => quantile(cpuUs, QUIET)
    return measured.map((row, i) => {
      const cpuUs = quietCpuUs(required(all[i]))
      return { ...row, unit: unit.name, cpuUs, cpuRatio: cpuUs / quietCpuUs(unit) }
    })
  }

  async close(): Promise<void> {
    for (const part of this.#running.splice(0).reverse()) await part.stop()
  }
}
