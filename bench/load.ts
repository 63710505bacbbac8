/**
 * A process that sends requests and counts answers: plain sockets, kept open, one request under way
 * on each. It knows as much HTTP as it needs and no more, so that it is never what is being
 * measured.
 */
import { createConnection, type Socket } from 'node:net'
import { quantile } from './measure.ts'

export interface LoadTarget {
  readonly port: number
  readonly connections: number
  /** Sent one after the other, and again from the beginning unless `once` is set. */
  readonly requests: readonly string[]
  /** Each is sent once; running out of them is an error. */
  readonly once?: boolean
  readonly status?: number
}

export type LoadOrder =
  | { readonly kind: 'target'; readonly id: number; readonly target: LoadTarget }
  | { readonly kind: 'run'; readonly id: number; readonly times: number }
  | { readonly kind: 'sustain'; readonly id: number; readonly ms: number }

export interface LoadOutcome {
  readonly count: number
  readonly ms: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export type LoadReply = { readonly outcome: LoadOutcome | undefined } | { readonly fault: string }

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: (\d+)/i

class Target {
  readonly #target: LoadTarget
  readonly #requests: readonly Buffer[]
  readonly #idle: Lane[] = []
  #next = 0

  constructor(target: LoadTarget) {
    this.#target = target
    this.#requests = target.requests.map((text) => Buffer.from(text, 'latin1'))
  }

  /** Goes on while `more` says so, with as many connections as the target has. */
  async run(more: () => boolean): Promise<LoadOutcome> {
    const latencies: number[] = []
    const startedMs = performance.now()
    const lanes = Array.from({ length: this.#target.connections }, async () => {
      const lane = await this.#lane()
      await lane.goOn(() => (more() ? this.#request() : undefined), latencies)
      this.#idle.push(lane)
    })
    await Promise.all(lanes)
    const ms = performance.now() - startedMs
    return { count: latencies.length, ms, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) }
  }

  async #lane(): Promise<Lane> {
    for (let lane = this.#idle.pop(); lane !== undefined; lane = this.#idle.pop())
      if (lane.isOpen) return lane
    const lane = new Lane(this.#target.port, this.#target.status ?? 200)
    await lane.open
    return lane
  }

  #request(): Buffer {
    if (this.#next === this.#requests.length) {
      if (this.#target.once === true) throw new Error('there are no requests left that were not sent before')
      this.#next = 0
    }
    return this.#requests[this.#next++] as Buffer
  }
}

/** One connection with at most one request under way. */
class Lane {
  readonly open: Promise<void>
  readonly #socket: Socket
  readonly #status: string
  #received: Buffer | undefined
  #onAnswer: (fault?: Error) => void = () => {}

  constructor(port: number, status: number) {
    this.#status = `HTTP/1.1 ${status} `
    this.#socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
    this.open = new Promise((resolve, reject) => this.#socket.once('connect', resolve).once('error', reject))
    this.#socket.on('data', (chunk) => this.#receive(chunk))
    this.#socket.on('error', (fault) => this.#onAnswer(fault))
    this.#socket.on('close', () =>
      this.#onAnswer(new Error('the server closed a connection that was in use')),
    )
  }

  get isOpen(): boolean {
    return this.#socket.writable && !this.#socket.destroyed
  }

  goOn(next: () => Buffer | undefined, latencies: number[]): Promise<void> {
    return new Promise((resolve, reject) => {
      let sentMs = 0
      const end = (fault?: unknown) => {
        this.#onAnswer = () => {}
        if (fault === undefined) resolve()
        else reject(fault)
      }
      const send = () => {
        let request: Buffer | undefined
        try {
          request = next()
        } catch (fault) {
          return end(fault)
        }
        if (request === undefined) return end()
        sentMs = performance.now()
        this.#socket.write(request)
      }
      this.#onAnswer = (fault) => {
        if (fault !== undefined) return end(fault)
        latencies.push(performance.now() - sentMs)
        send()
      }
      send()
    })
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk])
    this.#received = bytes
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0) return
    const head = bytes.toString('latin1', 0, headEnd)
    const length = LENGTH.exec(head)?.[1]
    const isExpected = length !== undefined && head.startsWith(this.#status)
    if (isExpected && bytes.length < headEnd + HEAD_END.length + Number(length)) return
    this.#received = undefined
    this.#onAnswer(isExpected ? undefined : new Error(`not what was expected: ${bytes.toString('latin1')}`))
  }
}

const targets = new Map<number, Target>()

async function obey(order: LoadOrder): Promise<LoadOutcome | undefined> {
  if (order.kind === 'target') {
    targets.set(order.id, new Target(order.target))
    return undefined
  }
  const target = targets.get(order.id)
  if (target === undefined) throw new Error('no such target')
  if (order.kind === 'sustain') {
    const endMs = performance.now() + order.ms
    return target.run(() => performance.now() < endMs)
  }
  let left = order.times
  return target.run(() => left-- > 0)
}

process.on('message', (order: LoadOrder) => {
  obey(order).then(
    (outcome) => process.send?.({ outcome } satisfies LoadReply),
    (fault: unknown) =>
      process.send?.({ fault: fault instanceof Error ? fault.message : String(fault) } satisfies LoadReply),
  )
})
