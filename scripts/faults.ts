import { startPostgres } from '../packages/service/test/store/postgres-server.ts'
import { type KillReport, killRounds } from '../test/process/kill-rounds.ts'
import { reachUnderLoad } from '../test/process/reach-under-load.ts'
import { cleanUp } from '../test/process/service-process.ts'
import { repeatTests } from './repeat-tests.ts'

/**
 * Tests of faults that end processes, take files away or set stores back, each with its control
 * arm.
 */
const FAULT_TESTS = [
  'test/system/set-back-store.test.ts', // B1
  'test/system/shutdown.test.ts', // B3
  'test/system/rollback.test.ts', // B6
  'test/system/lost-files.test.ts', // B7
  'test/system/signals.test.ts',
  'test/system/webhooks.test.ts',
  'packages/service/test/store/unwritable.test.ts', // B13
]

/**
 * `npm run faults [-- <rounds>]`: the long run of what the suite does in short. Kills the service
 * under load that many times (200) on SQLite and as often on PostgreSQL, then a few times a service
 * that acknowledges too early. Asks a service under saturating load for health and a revocation.
 * Repeats the suite's tests of faults, once for every 40 rounds. Exits with 1 when anything
 * acknowledged was lost, when a test failed, or when a control arm saw no fault.
 */
const rounds = Number(process.argv[2] ?? 200)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error('usage: npm run faults [-- <rounds on each store, at least 1>]')
  process.exit(2)
}

const controlRounds = Math.min(5, rounds)
let isGood = true

const onRound = (round: number) => void (round % 10 === 0 && console.log(`  round ${round}`))

function report(
  name: string,
  { acknowledged, doubtful, living, entries, faults, readyMs, ...run }: KillReport,
): number {
  const lost = faults.filter(({ kind }) => kind === 'lost').length
  const { user, credential, token } = acknowledged
  console.log(`${name}: ${run.rounds} kills, ${entries} log entries`)
  console.log(
    `  checked   ${user} users, ${credential} credentials, ${token} tokens revoked; ${living} left alone`,
  )
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

/**
 * B2. The ratio is what counts: both ports are asked at the same time, in the same process, under
 * the same load.
 */
async function demandReach(): Promise<void> {
  const { adminMs, revokedMs, mainMs, answers } = await reachUnderLoad()
  const worst = Math.max(...adminMs.map((ms) => ms ?? Infinity))
  console.log('Reach under saturating verifications')
  console.log(
    `  admin port  health at most ${Math.round(worst)} ms, a revocation ${Math.round(revokedMs ?? Infinity)} ms`,
  )
  console.log(
    `  main port   health ${mainMs === undefined ? 'not before the load ended' : `${Math.round(mainMs)} ms`}`,
  )
  console.log(`  answers     ${JSON.stringify(answers)}`)
  if (Number.isFinite(worst) && revokedMs !== undefined) return
  isGood = false
  console.error('  the admin port did not answer before the load ended')
}

try {
  demandNone('SQLite', await killRounds({ rounds, onRound }))
  const server = await startPostgres()
  try {
    demandNone(
      'PostgreSQL',
      await killRounds({ rounds, databaseUrl: await server.createDatabase(), onRound }),
    )
  } finally {
    await server.stop()
  }
  const entry = new URL('../test/process/hasty-service.ts', import.meta.url)
  const lost = report(
    'Control arm, acknowledging too early',
    await killRounds({ rounds: controlRounds, entry }),
  )
  if (lost === 0) {
    isGood = false
    console.error('  the control arm lost nothing: the checker is blind')
  }
  await demandReach()
  if (!(await repeatTests(FAULT_TESTS, Math.ceil(rounds / 40)))) isGood = false
} finally {
  await cleanUp()
}
process.exit(isGood ? 0 : 1)
