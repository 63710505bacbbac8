import { addIssuer, createClient } from './client.ts'
import { type Fault, Ledger } from './ledger.ts'
import { startLoad } from './load.ts'
import { readOutside } from './outside-log.ts'
import {
  createHome,
  furnish,
  pause,
  type ServiceProcess,
  type StartOptions,
  startFurnished,
  startService,
} from './service-process.ts'

export interface KillRounds {
  readonly rounds: number
  /** Undefined: SQLite. */
  readonly databaseUrl?: string
  readonly entry?: StartOptions['entry']
  /** How long the clients go on before each kill, at most. */
  readonly loadMsMax?: number
  /**
   * Lets the clients finish, and waits so long before the kill of these rounds: then nothing is
   * under way that could be lost.
   */
  readonly settleMs?: (round: number) => number | undefined
  readonly onRound?: (round: number, ledger: Ledger) => void
}

export interface KillReport {
  readonly rounds: number
  /** Those that were in doubt and were revoked again after the start are among them. */
  readonly acknowledged: { readonly user: number; readonly credential: number; readonly token: number }
  /** Revocations that were cut off without an answer, and were found whole or not at all. */
  readonly doubtful: number
  readonly living: number
  readonly entries: number
  readonly faults: readonly Fault[]
  /** How many were lost after each round, all together. */
  readonly lostAfter: readonly number[]
  /** How long each start took until the node was ready, with the log read and its chain checked. */
  readonly readyMs: readonly number[]
}

const LOAD_MS_MAX = 400

/**
 * Kills a service under load again and again, at random moments and without warning, and holds what
 * it acknowledged against what is in its database and what it answers after the next start.
 */
export async function killRounds(options: KillRounds): Promise<KillReport> {
  const { rounds, databaseUrl, entry, loadMsMax = LOAD_MS_MAX, onRound } = options
  const home = await createHome(databaseUrl === undefined ? {} : { databaseUrl })
  const start = () => startService(home, entry === undefined ? {} : { entry })
  const ledger = new Ledger()
  const readyMs: number[] = []
  const lostAfter: number[] = []
  let doubtful = 0
  const furnished = entry === undefined ? await startFurnished(home) : undefined
  const dev = furnished?.dev ?? (await furnish(home))
  let node: ServiceProcess = furnished ?? (await start())
  const client = createClient(node.url, dev)
  const issuer = await addIssuer(client, dev)
  for (let round = 1; round <= rounds; round++) {
    const before = ledger.things.length
    const load = startLoad(client, issuer, ledger)
    await load.begun
    await pause(Math.random() * loadMsMax)
    const settleMs = options.settleMs?.(round)
    if (settleMs !== undefined) {
      await load.stop()
      await pause(settleMs)
    }
    load.expectEnd()
    await node.kill('SIGKILL')
    await load.stop()
    doubtful += ledger.count('doubtful')
    node = await start()
    readyMs.push(node.readyMs)
    const log = await readOutside(home)
    ledger.checkLog(log)
    await ledger.checkNode(client, log, ledger.things.slice(before))
    lostAfter.push(ledger.faults.filter(({ kind }) => kind === 'lost').length)
    onRound?.(round, ledger)
  }
  const log = await readOutside(home)
  ledger.checkLog(log)
  await ledger.checkNode(client, log)
  const code = await node.stop()
  if (code !== 0) ledger.fault('other', `the service ended with ${code}:\n${node.output()}`)
  const acknowledged = { user: 0, credential: 0, token: 0 }
  for (const { kind, state } of ledger.things) if (state === 'revoked') acknowledged[kind]++
  return {
    rounds,
    acknowledged,
    doubtful,
    living: ledger.count('living'),
    entries: log.entries.length,
    faults: ledger.faults,
    lostAfter,
    readyMs,
  }
}
