import { parseArgs } from 'node:util'
import { agree } from '../packages/sdk/test/agreement.ts'

/**
 * `npm run agreement`: a million random presentations, shown to a guard and to the core with what
 * the service knows. The same seed is the same run.
 */
const { values } = parseArgs({
  options: { count: { type: 'string', default: '1000000' }, seed: { type: 'string' } },
})
const count = Number(values.count)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(seed))
  throw new TypeError('--count and --seed take whole numbers')

const number = new Intl.NumberFormat('en')
console.log(`${number.format(count)} presentations, seed ${seed}`)
const { compared, codes, lags, disagreements } = await agree({
  count,
  seed,
  onProgress: (done) => {
    if (done % 100_000 === 0) console.log(`  ${number.format(done).padStart(9)} done`)
  },
})

console.log('\nanswers that both gave')
for (const [code, times] of Object.entries(codes).sort(([, a], [, b]) => b - a)) {
  console.log(
    `  ${code.replace('another_refusal', '(a token refused in other words)').padEnd(34)} ${number.format(times).padStart(9)}`,
  )
}
console.log(`  ${'(a token refused by the guard only)'.padEnd(34)} ${number.format(lags).padStart(9)}`)
for (const { at, what, service, guard } of disagreements.slice(0, 20))
  console.error(`at ${at}: ${what}: service ${service}, guard ${guard}`)
console.log(`\n${number.format(compared)} compared, ${number.format(disagreements.length)} disagreements`)
if (disagreements.length > 0) process.exitCode = 1
