import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, median, shuffled } from './measure.ts'
import { type Load, type ServerProcess, startServer, type Target } from './processes.ts'
import { required } from './sample.ts'
import type { ServerName, ServerOptions } from './servers/server.ts'
import { atLeast, type Verdict } from './verdict.ts'

/** How much is measured over HTTP, of each process. */
export interface StageSettings {
  /** Of each contestant: two processes of the same server differ by a tenth and more. */
  readonly processes: number
  readonly connections: number
  /** Until these have been sent, or the time is over, nothing counts: V8 is still compiling. */
  readonly warmUpRequests: number
  readonly warmUpMs: number
  readonly rounds: number
  /** In each round. A quarter more is sent before them, to bring code back into the caches. */
  readonly requests: number
  /** How long a server may take for work that it does after its answers. */
  readonly settleMs: number
}

const SETTINGS: StageSettings = {
  processes: 3,
  connections: 64,
  warmUpRequests: 20_000,
  warmUpMs: 8000,
  rounds: 11,
  requests: 1500,
  settleMs: 500,
}

export interface HttpRow {
  readonly name: string
  readonly note: string
  /** Against what its ratio stands. */
  readonly unit: string
  /** Of each process with all its threads, for one request: the median of its rounds. */
  readonly cpuUs: readonly number[]
  readonly perSecond: number
  /**
   * CPU time of the unit to that of this one, for each process: the median of its ratios to the
   * unit just before and just after it.
   */
  readonly ratios: readonly number[]
}

export interface StageOptions {
  readonly onProgress?: (what: string, done: number, all: number) => void
  readonly settings?: Partial<StageSettings>
}

/** One server of the comparison, in several processes. */
export type Contestant<Name extends ServerName = ServerName> = readonly ServerProcess<Name>[]

interface HttpSubject {
  readonly name: string
  readonly note: string
  readonly lanes: readonly Lane[]
  /** Whether what it does after its answers counts. */
  readonly settles: boolean
  /** How many different requests there are, if each may be sent once only. */
  readonly requestsMax: number
}

/** One process of one subject, and what was measured of it. */
interface Lane {
  readonly server: ServerProcess
  readonly target: Target
  readonly cpuUs: number[]
  readonly ratios: number[]
  readonly perSecond: number[]
}

/** The servers and the sender of one comparison. */
export class Stage {
  readonly #load: Load
  readonly #onProgress: NonNullable<StageOptions['onProgress']>
  readonly #settings: StageSettings
  readonly #running: { stop(): Promise<void> }[] = []

  constructor(load: Load, { onProgress = () => {}, settings }: StageOptions) {
    this.#load = load
    this.#onProgress = onProgress
    this.#settings = { ...SETTINGS, ...settings }
    this.#running.push(load)
  }

  /** So many requests one process is sent for one subject. */
  get requestsEach(): number {
    const { rounds, requests, warmUpRequests } = this.#settings
    return rounds * (requests + Math.ceil(requests / 4)) + warmUpRequests
  }

  /** One process. */
  start: typeof startServer = async (name, options) => {
    const server = await startServer(name, options)
    this.#running.push(server)
    return server
  }

  /** All processes of a contestant. */
  async startAll<Name extends ServerName>(
    name: Name,
    options: (n: number) => ServerOptions[Name],
  ): Promise<Contestant<Name>> {
    const all: ServerProcess<Name>[] = []
    for (let n = 0; n < this.#settings.processes; n++) all.push(await this.start(name, options(n)))
    return all
  }

  /**
   * With `once`, each request is sent once to each process, and what it does in the background
   * counts as well.
   */
  async subject<Name extends ServerName>(
    name: string,
    contestant: Contestant<Name>,
    toRequests: (server: ServerProcess<Name>, n: number) => readonly string[],
    note = '',
    once = false,
  ): Promise<HttpSubject> {
    const { connections } = this.#settings
    const lanes: Lane[] = []
    let requestsMax = Infinity
    for (const [n, server] of contestant.entries()) {
      const requests = toRequests(server, n)
      const target = await this.#load.target({ port: server.ready.port, connections, requests, once })
      lanes.push({ server, target, cpuUs: [], ratios: [], perSecond: [] })
      if (once) requestsMax = requests.length
    }
    return { name, note, lanes, settles: once, requestsMax }
  }

  /**
   * In each round every process of every subject gets a slice, in a new order, and between any two
   * slices a process of the unit. So whatever else the machine does meets them alike, and each is
   * compared with the unit at the same time.
   */
  async compare(unit: HttpSubject, others: readonly HttpSubject[]): Promise<HttpRow[]> {
    const { rounds } = this.#settings
    const subjects = [unit, ...others]
    for (const subject of subjects) for (const lane of subject.lanes) await this.#warmUp(subject, lane)
    const random = createRandom(1)
    const all = others.flatMap((subject) => subject.lanes.map((lane) => ({ subject, lane })))
    let turn = 0
    const measureUnit = () => this.#measure(unit, unit.lanes[turn++ % unit.lanes.length] as Lane)
    let beforeUs = await measureUnit()
    for (let round = 0; round < rounds; round++) {
      this.#onProgress(`requests beside ${unit.name}, round`, round, rounds)
      for (const { subject, lane } of shuffled(all, random)) {
        const us = await this.#measure(subject, lane)
        const afterUs = await measureUnit()
        lane.ratios.push(...compareAll([beforeUs, afterUs], [us]))
        beforeUs = afterUs
      }
    }
    this.#onProgress(`requests beside ${unit.name}, round`, rounds, rounds)
    return subjects.map(({ name, note, lanes }) => ({
      name,
      note,
      unit: unit.name,
      cpuUs: lanes.map(({ cpuUs }) => median(cpuUs)),
      perSecond: median(lanes.flatMap(({ perSecond }) => perSecond)),
      ratios: lanes.map(({ ratios }) => (ratios.length > 0 ? median(ratios) : 1)),
    }))
  }

  /** CPU time in µs for one request. */
  async #measure({ settles }: HttpSubject, { server, target, cpuUs, perSecond }: Lane): Promise<number> {
    const { requests, settleMs } = this.#settings
    const settle = () => (settles ? sleep(settleMs) : undefined)
    await target.run(Math.ceil(requests / 4))
    await settle()
    const before = await server.usage()
    const { count, ms } = await target.run(requests)
    await settle()
    const us = ((await server.usage()).cpuUs - before.cpuUs) / count
    cpuUs.push(us)
    perSecond.push((count * 1000) / ms)
    return us
  }

  async #warmUp({ requestsMax }: HttpSubject, { target }: Lane): Promise<void> {
    const { warmUpRequests, warmUpMs, rounds, requests } = this.#settings
    const left = requestsMax - rounds * (requests + Math.ceil(requests / 4))
    const endMs = performance.now() + warmUpMs
    for (let sent = 0; sent < Math.min(warmUpRequests, left) && performance.now() < endMs; sent += requests)
      await target.run(Math.min(requests, left - sent))
  }

  async close(): Promise<void> {
    for (const part of this.#running.splice(0).reverse()) await part.stop()
  }
}

/** Each of one beside each of another: 1 is as quick, 0.5 takes twice the time. */
export function compareAll(unitUs: readonly number[], cpuUs: readonly number[]): number[] {
  return cpuUs.flatMap((us) => unitUs.map((ofUnit) => ofUnit / us))
}

/** Whether a subject takes little enough CPU time: by the median of its processes. */
export function atLeastOfUnit(
  promise: string,
  limit: number,
  rows: readonly HttpRow[],
  name: string,
): Verdict {
  const { ratios } = required(rows.find((row) => row.name === name))
  return atLeastOfAll(promise, limit, ratios)
}

export function atLeastOfAll(promise: string, limit: number, ratios: readonly number[]): Verdict {
  const range = [Math.min(...ratios), Math.max(...ratios)] as const
  return { ...atLeast(promise, limit, median(ratios)), range }
}
