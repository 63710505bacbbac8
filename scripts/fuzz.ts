import { parseArgs } from 'node:util'
import { fuzz } from '../packages/core/test/fuzz/fuzz.ts'
import { fuzzJwts } from '../packages/core/test/fuzz/jwt-fuzz.ts'

/**
 * `npm run fuzz`: a million mutated credentials; with `--of tokens`, as many mutated access tokens.
 * The same seed and count make the same mutants of new keys.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000000' },
    seed: { type: 'string' },
    of: { type: 'string', default: 'credentials' },
  },
})
const count = Number(values.count)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(seed))
  throw new TypeError('--count and --seed take whole numbers')
if (values.of !== 'credentials' && values.of !== 'tokens')
  throw new TypeError('--of takes credentials or tokens')

const number = new Intl.NumberFormat('en')
console.log(`${number.format(count)} mutants, seed ${seed}`)
const onProgress = (done: number) => {
  if (done % 100_000 === 0) console.log(`  ${number.format(done).padStart(9)} done`)
}
const { tried, unchanged, faults, codes } =
  values.of === 'tokens' ? await fuzzTokens() : await fuzz({ count, seed, onProgress })

console.log('\nanswers')
const answers = { ...codes, accepted: (codes.accepted ?? 0) - unchanged }
for (const [code, times] of Object.entries(answers).sort(([, a], [, b]) => b - a)) {
  console.log(`  ${code.padEnd(32)} ${number.format(times).padStart(9)}`)
}
console.log(`  ${'(another spelling, same meaning)'.padEnd(32)} ${number.format(unchanged).padStart(9)}`)
for (const fault of faults.slice(0, 20))
  console.error(
    `fault: ${fault.what} after ${fault.mutation}, seed ${fault.seed}: ${fault.text.slice(0, 400)}`,
  )
console.log(`\n${number.format(tried)} tried, ${number.format(faults.length)} faults`)
if (faults.length > 0) process.exitCode = 1

/** A second valid signature of ECDSA counts as another spelling: it has the id of its token. */
async function fuzzTokens() {
  const report = await fuzzJwts({ count, seed, onProgress })
  return { ...report, unchanged: report.unchanged + report.twins }
}
