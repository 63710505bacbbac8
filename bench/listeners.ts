/**
 * A process that listens on many connections and tells on one: plain sockets, so that it costs the
 * same for every server. From the moment a telling is sent to the moment each listener has read
 * it, on one clock.
 */
import { createConnection, type Socket } from 'node:net'

export type ListenOrder =
  | {
      readonly kind: 'listen'
      readonly group: string
      readonly port: number
      readonly openings: readonly string[]
      readonly greeting: string
    }
  | {
      readonly kind: 'tell'
      readonly group: string
      readonly port: number
      readonly text: string
      readonly mark: string
    }
  | { readonly kind: 'leave'; readonly group: string }

/** Milliseconds from telling to hearing, of each listener. */
export type ListenReply = { readonly heardMs: readonly number[] } | { readonly fault: string }

const PATIENCE_MS = 30_000
/** So many connections are opened at a time: a backlog has an end. */
const OPENED_AT_ONCE = 200

class Listener {
  readonly open: Promise<void>
  readonly #socket: Socket
  #read = ''
  #wanted = ''
  #onHeard: () => void = () => {}

  constructor(port: number, opening: string, greeting: string) {
    this.#socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('error', () => {})
    this.open = this.hear(greeting)
    this.#socket.once('connect', () => this.#socket.write(opening))
    this.#socket.on('data', (chunk) => {
      this.#read += chunk.toString('latin1')
      if (!this.#read.includes(this.#wanted)) return
      this.#read = ''
      this.#wanted = 'nothing that is ever sent'
      this.#onHeard()
    })
  }

  hear(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#read = ''
      this.#wanted = text
      const timer = setTimeout(() => reject(new Error(`a listener did not hear ${text}`)), PATIENCE_MS)
      this.#onHeard = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  leave(): void {
    this.#socket.destroy()
  }
}

const groups = new Map<string, Listener[]>()
const tellers = new Map<number, Socket>()

async function obey(order: ListenOrder): Promise<readonly number[]> {
  if (order.kind === 'leave') {
    for (const listener of groups.get(order.group) ?? []) listener.leave()
    groups.delete(order.group)
    return []
  }
  if (order.kind === 'listen') {
    const all: Listener[] = []
    for (let i = 0; i < order.openings.length; i += OPENED_AT_ONCE) {
      const some = order.openings
        .slice(i, i + OPENED_AT_ONCE)
        .map((opening) => new Listener(order.port, opening, order.greeting))
      await Promise.all(some.map(({ open }) => open))
      all.push(...some)
    }
    groups.set(order.group, all)
    return []
  }
  const teller = tellers.get(order.port) ?? (await openTeller(order.port))
  const heardMs: number[] = []
  let toldMs = 0
  const heard = (groups.get(order.group) ?? []).map((listener) =>
    listener.hear(order.mark).then(() => {
      heardMs.push(performance.now() - toldMs)
    }),
  )
  toldMs = performance.now()
  teller.write(order.text)
  await Promise.all(heard)
  return heardMs
}

async function openTeller(port: number): Promise<Socket> {
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  socket.on('data', () => {})
  tellers.set(port, socket)
  return socket
}

process.on('message', (order: ListenOrder) => {
  obey(order).then(
    (heardMs) => process.send?.({ heardMs } satisfies ListenReply),
    (fault: unknown) =>
      process.send?.({ fault: fault instanceof Error ? fault.message : String(fault) } satisfies ListenReply),
  )
})

process.once('disconnect', () => process.exit(0))
