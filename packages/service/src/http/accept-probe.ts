import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { createSteadyGauge } from './steady-gauge.ts'

/** Measures how long new connections wait until they are accepted. */
export interface AcceptGauge {
  /**
   * To be called at regular intervals: counts what the last connection took, or how long it has
   * been waiting, and opens the next one.
   */
  tick(): void
  /** The connection of the last tick was accepted, or cannot be opened. */
  accepted(): void
  delayMs(): number
}

/**
 * Has at most one connection outstanding: `dial` opens it. `nowMs` comes from a clock that never
 * runs back.
 */
export function createAcceptGauge(dial: () => void, nowMs: () => number): AcceptGauge {
  const steady = createSteadyGauge()
  let dialedAtMs: number | undefined
  let tookMs = 0
  return {
    tick() {
      steady.add(dialedAtMs === undefined ? tookMs : nowMs() - dialedAtMs)
      if (dialedAtMs !== undefined) return
      dialedAtMs = nowMs()
      dial()
    },
    accepted() {
      if (dialedAtMs !== undefined) tookMs = nowMs() - dialedAtMs
      dialedAtMs = undefined
    },
    delayMs: steady.value,
  }
}

const EVERY_MS = 250

/**
 * Connects to a listening server of this process again and again. Node accepts one connection in
 * each turn of the event loop, so under load new connections wait long before the delay of the
 * event loop says so. The probe sends nothing and appears in no log. `close` lets the process end.
 */
export function openAcceptProbe(server: Server): Pick<AcceptGauge, 'delayMs'> & { close(): void } {
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new TypeError('the server does not listen on a port')
  const host = WILDCARDS.get(address.address) ?? address.address
  let probe: Socket | undefined
  /** Ports of connections that were accepted before the probe knew its own. */
  const early = new Set<number>()
  const end = () => {
    probe?.destroy()
    probe = undefined
    early.clear()
    gauge.accepted()
  }
  const dial = () => {
    const dialed = connect({ host, port: address.port })
    probe = dialed
    dialed.unref()
    dialed.on('connect', () => {
      if (dialed === probe && early.has(dialed.localPort ?? 0)) end()
    })
    // A server that cannot be reached this way says nothing about its load.
    dialed.on('error', () => {})
    dialed.on('close', () => {
      if (dialed === probe) end()
    })
  }
  const gauge = createAcceptGauge(dial, () => performance.now())
  const onConnection = ({ remotePort = 0 }: Socket) => {
    if (probe === undefined) return
    if (probe.connecting) early.add(remotePort)
    else if (probe.localPort === remotePort) end()
  }
  server.on('connection', onConnection)
  const timer = setInterval(gauge.tick, EVERY_MS)
  timer.unref()
  return {
    delayMs: gauge.delayMs,
    close() {
      clearInterval(timer)
      server.off('connection', onConnection)
      end()
    },
  }
}

/** A server that listens on all addresses is reached on loopback. */
const WILDCARDS: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])
