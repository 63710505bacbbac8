import { parseArgs } from 'node:util'
import { createNodeCrypto } from '../packages/core/src/proof/crypto-node.ts'
import { fuzz } from '../packages/core/test/fuzz/fuzz.ts'
import { fuzzJwts } from '../packages/core/test/fuzz/jwt-fuzz.ts'
import { fuzzSignatures } from '../packages/core/test/fuzz/signature-fuzz.ts'

/**
 * `npm run fuzz`: a million mutated credentials; with `--of tokens`, as many mutated access tokens;
 * with `--of signatures`, as many Ed25519 signatures for each library.
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
if (!['credentials', 'tokens', 'signatures'].includes(values.of))
  throw new TypeError('--of takes credentials, tokens or signatures')

const number = new Intl.NumberFormat('en')
console.log(`${number.format(count)} ${values.of === 'signatures' ? 'signatures' : 'mutants'}, seed ${seed}`)
const onProgress = (done: number) => {
  if (done % 100_000 === 0) console.log(`  ${number.format(done).padStart(9)} done`)
}
const run = {
  credentials: () => fuzz({ count, seed, onProgress }),
  tokens: fuzzTokens,
  signatures: fuzzLibraries,
}
const { tried, unchanged, faults, codes } = await run[values.of as keyof typeof run]()

console.log('\nanswers')
const answers = values.of === 'signatures' ? codes : { ...codes, accepted: (codes.accepted ?? 0) - unchanged }
for (const [code, times] of Object.entries(answers).sort(([, a], [, b]) => b - a)) {
  console.log(`  ${code.padEnd(46)} ${number.format(times).padStart(9)}`)
}
if (values.of !== 'signatures')
  console.log(`  ${'(another spelling, same meaning)'.padEnd(46)} ${number.format(unchanged).padStart(9)}`)
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

/** An answer that differs between OpenSSL and libsodium is a fault. */
async function fuzzLibraries() {
  const [openssl, libsodium] = [createNodeCrypto('openssl'), createNodeCrypto('libsodium')]
  if (openssl === undefined || libsodium?.ed25519Library !== 'libsodium')
    throw new Error('this run needs node:crypto and sodium-native')
  const report = await fuzzSignatures({
    count,
    seed,
    verifiers: { openssl: openssl.verify, libsodium: libsodium.verify },
    onProgress,
  })
  const codes: Record<string, number> = {}
  for (const [kind, { accepted, rejected }] of Object.entries(report.answers)) {
    codes[`${kind}: rejected`] = rejected
    if (accepted > 0) codes[`${kind}: accepted`] = accepted
  }
  const faults = report.disagreements.map(({ kind, seed, answers }) => ({
    what: 'different answers',
    mutation: kind,
    seed,
    text: answers,
  }))
  return { tried: report.tried, unchanged: 0, faults, codes }
}
