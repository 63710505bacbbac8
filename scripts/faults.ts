import { startPostgres } from '../packages/service/test/store/postgres-server.ts'
import { type KillReport, killRounds } from '../test/process/kill-rounds.ts'
import { cleanUp } from '../test/process/service-process.ts'

/**
 * `npm run faults [-- <rounds>]`: the long run of what the suite does in short. Kills the service under load that many times (200) on SQLite and
 * as often on PostgreSQL, then a few times a service that acknowledges too early. Ends with 1 when anything acknowledged was lost, or when the
 * control arm lost nothing that could be seen.
 */
const rounds = Number(process.argv[2] ?? 200)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error('usage: npm run faults [-- <rounds on each store, at least 1>]')
  process.exit(2)
}

const controlRounds = Math.min(5, rounds)
let isGood = true

const onRound = (round: number) => void (round % 10 === 0 && console.log(`  round ${round}`))

function report(name: string, { acknowledged, doubtful, living, entries, faults, readyMs, ...run }: KillReport): number {
  const lost = faults.filter(({ kind }) => kind === 'lost').length
  const { user, credential, token } = acknowledged
  console.log(`${name}: ${run.rounds} kills, ${entries} log entries`)
  console.log(`  checked   ${user} users, ${credential} credentials, ${token} tokens revoked; ${living} left alone`)
  console.log(`  in doubt  ${doubtful} cut off without an answer`)
  console.log(`  lost      ${lost}`)
  console.log(`  faults    ${faults.length}`)
  console.log(`  ready in  ${Math.round(median(readyMs))} ms, at most ${Math.round(Math.max(...readyMs))} ms`)
  return lost
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

function demandNone(name: string, run: KillReport): void {
  report(name, run)
  if (run.faults.length === 0) return
  isGood = false
  for (const { kind, text } of run.faults.slice(0, 20)) console.error(`  ${kind}: ${text}`)
}

try {
  demandNone('SQLite', await killRounds({ rounds, onRound }))
  const server = await startPostgres()
  try {
    demandNone('PostgreSQL', await killRounds({ rounds, databaseUrl: await server.createDatabase(), onRound }))
  } finally {
    await server.stop()
  }
  const entry = new URL('../test/process/hasty-service.ts', import.meta.url)
  const lost = report('Control arm, acknowledging too early', await killRounds({ rounds: controlRounds, entry }))
  if (lost === 0) {
    isGood = false
    console.error('  the control arm lost nothing: the checker is blind')
  }
} finally {
  await cleanUp()
}
process.exit(isGood ? 0 : 1)
