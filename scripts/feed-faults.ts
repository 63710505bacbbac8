import { addIssuer, createClient } from '../test/process/client.ts'
import { playScenario } from '../test/process/fault-scenario.ts'
import { feedCuts } from '../test/process/feed-cuts.ts'
import { relayScenarios } from '../test/process/relay-scenarios.ts'
import { cleanUp, createHome, furnish, startService } from '../test/process/service-process.ts'
import { repeatTests } from './repeat-tests.ts'

const ATTACK_MS = 60_000
/** Tests of the feed under faults, each with its control arm. */
const FEED_FAULT_TESTS = [
  'test/system/lease-model.test.ts', // B4, B11: no guard accepts after denied_everywhere_at
  'packages/service/test/feed/leases.test.ts', // B4, B10, B12
  'packages/service/test/feed/clock-difference.test.ts', // B8
  'test/system/feed-nodes.test.ts',
]

/**
 * `npm run feed-faults [-- <cuts> <entries> <seed>]`: the long run of what the suite does in short.
 * Cuts the connections of verifiers of one log 1,000 times while it grows by 10,000 entries, then
 * puts a relay that forges between a guard and the service, and repeats the suite's tests of
 * receipts. Exits with 1 when an entry was applied out of order or not at all, when a view reported
 * too low an age, when a revoked user was accepted later than the bound allows, when a forgery was
 * accepted, or when a control arm saw no fault.
 */
const [cuts = 1000, entries = 10_000, seed = 1] = process.argv.slice(2).map(Number)
if (![cuts, entries, seed].every((number) => Number.isSafeInteger(number) && number > 0)) {
  console.error('usage: npm run feed-faults [-- <cuts> <entries> <seed>]')
  process.exit(2)
}

try {
  const home = await createHome()
  const dev = await furnish(home)
  await startService(home)
  const startedMs = performance.now()
  const onProgress = (text: string) => console.log(`  ${text}`)
  const report = await feedCuts({
    port: home.port,
    dev,
    seed,
    cuts,
    entries,
    followers: 40,
    silences: Math.ceil(cuts / 50),
    onProgress,
  })
  const { reset, end, silence } = report.cuts
  const faults = [...report.misapplied, ...report.flattering, ...report.late]
  console.log(
    `${reset} resets, ${end} ends, ${silence} silences; ${report.entries} entries, ${report.followers} followers, seed ${seed}`,
  )
  console.log(`  applied out of turn or not at all  ${report.misapplied.length}`)
  console.log(`  called younger than it was         ${report.flattering.length}`)
  console.log(`  accepted too late                  ${report.late.length}`)
  console.log(`  from acknowledgement to refusal    ${Math.round(report.deniedMsMax)} ms at most`)
  console.log(`  took                               ${Math.round((performance.now() - startedMs) / 1000)} s`)
  for (const fault of faults.slice(0, 20)) console.error(`  ${fault}`)
  if (faults.length > 0) process.exitCode = 1

  const issuer = await addIssuer(createClient(home.baseUrl, dev), dev)
  for (const scenario of relayScenarios({ url: home.baseUrl, dev, issuer, attackMs: ATTACK_MS })) {
    const seen = await playScenario(scenario)
    console.log(
      `${scenario.finding}: ${scenario.name}: ${seen.length === 0 ? 'nothing accepted, control arm accepted' : 'FAILED'}`,
    )
    for (const fault of seen) console.error(`  ${fault}`)
    if (seen.length > 0) process.exitCode = 1
  }
  if (!(await repeatTests(FEED_FAULT_TESTS, 1))) process.exitCode = 1
} finally {
  await cleanUp()
}
