import { connect } from 'node:net'
import { freePort } from '../../packages/service/test/store/postgres-server.ts'
import { addIssuer, createClient } from './client.ts'
import { createHome, furnish, pause, type ServiceHome, startService } from './service-process.ts'
import { startVerificationLoad } from './verification-load.ts'

/**
 * How long new connections waited for an answer while verifications saturated the main port.
 * `undefined`: no answer before the load ended.
 */
export interface ReachReport {
  /** Of every `GET /healthz` on the admin port, one after the other. */
  readonly adminMs: readonly (number | undefined)[]
  /** Of a revocation through the admin port. */
  readonly revokedMs: number | undefined
  /**
   * The control: of the first `GET /healthz` on the main port, asked at the same time as the first
   * on the admin port.
   */
  readonly mainMs: number | undefined
  /** Answers to the load, by status. 503: rejected because of the load. */
  readonly answers: Readonly<Record<number, number>>
}

export interface ReachOptions {
  readonly home?: ServiceHome
  readonly connections?: number
  readonly loadMs?: number
}

/**
 * Starts a service, floods its main port with verifications over new connections, and asks for
 * health and a revocation meanwhile (B2).
 */
export async function reachUnderLoad({
  home: given,
  connections = 300,
  loadMs = 10_000,
}: ReachOptions = {}): Promise<ReachReport> {
  const home = given ?? (await createHome())
  const dev = await furnish(home)
  const adminPort = await freePort()
  const env = {
    COUNTERSIGN_ADMIN_PORT: String(adminPort),
    COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '100',
    COUNTERSIGN_OVERLOAD_ACCEPT_DELAY_MS_MAX: '250',
  }
  const service = await startService(home, { env })
  const issuer = await addIssuer(createClient(service.url, dev), dev)
  const { document, ppid } = await issuer.issue()
  const load = startVerificationLoad(service.url, document, connections)
  const end = pause(loadMs)
  const untilEnd = <T>(work: Promise<T>) => Promise.race([work, end.then(() => undefined)])
  // Until the load is being answered.
  while (load.answers.size === 0) await pause(20)
  // A connection that the flooded port resets has no answer, either.
  const main = untilEnd(healthMs(Number(new URL(service.url).port)).catch(() => undefined))
  const adminMs: (number | undefined)[] = []
  for (let asked = 0; asked < 10; asked++) adminMs.push(await untilEnd(healthMs(adminPort)))
  const startedMs = performance.now()
  const told = await untilEnd(createClient(`http://127.0.0.1:${adminPort}`, dev).revokeUser(ppid))
  const revokedMs = told?.status === 200 ? performance.now() - startedMs : undefined
  const report = { adminMs, revokedMs, mainMs: await main, answers: Object.fromEntries(load.answers) }
  load.stop()
  await service.stop()
  return report
}

/** On a connection of its own, which `fetch` does not promise. */
function healthMs(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /healthz HTTP/1.1\r\nHost: id.example\r\nConnection: close\r\n\r\n')
    socket.once('error', reject)
    socket.once('data', () => {
      socket.destroy()
      resolve(performance.now() - startedMs)
    })
  })
}
