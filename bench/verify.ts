import { coldSteps, type Step, stepCosts } from './cold-steps.ts'
import { createRandom, type Measured, type MeasureOptions, measure, type Subject } from './measure.ts'
import { bytesPerEntry, coldWithMemory, coldWithoutMemory, warm } from './ours.ts'
import { didJwtVcSubject } from './peers/did-jwt-vc.ts'
import { digitalbazaarSubjects } from './peers/digitalbazaar-vc.ts'
import { fastJwtSubjects } from './peers/fast-jwt.ts'
import { joseSubject } from './peers/jose.ts'
import { rawSodium, rawVerify } from './raw-verify.ts'
import { createSample, required, type Sample, several } from './sample.ts'
import { atLeast, atMost, type Verdict } from './verdict.ts'

const MANY = 50_000
const MANY_CAPACITY = 65_536
const COLD_SET = 8192

export interface VerifyResult {
  readonly rows: readonly Measured[]
  readonly steps: readonly Step[]
  readonly bytesPerEntry: number | undefined
  readonly verdicts: readonly Verdict[]
}

export interface BenchVerifyOptions {
  readonly onProgress?: (what: string, done: number, all: number) => void
  readonly measure?: Omit<MeasureOptions, 'onRound'>
}

/** Verification of one credential, cold and warm, beside its peers and in parts. */
export async function benchVerify({
  onProgress,
  measure: options,
}: BenchVerifyOptions = {}): Promise<VerifyResult> {
  const sample = await createSample(Date.now())
  const headers = await makeHeaders(sample, (done) => onProgress?.('signing credentials', done, MANY))
  const coldHeaders = headers.slice(0, COLD_SET)
  const bytes = await bytesPerEntry(sample, headers, MANY_CAPACITY)

  // Made for this run, as the tokens of the peers are: a thousand out of the fifty thousand would
  // lie scattered over all of their memory.
  const thousand = await several(1000, sample.header)
  const raw = rawVerify(sample)
  const subjects: Subject[] = [
    raw,
    ...rawSodium(sample),
    coldWithoutMemory(sample, coldHeaders),
    coldWithMemory(sample, coldHeaders),
    await warm(sample, thousand.slice(0, 1), 1024),
    await warm(sample, thousand, 16_384),
    await warm(sample, headers, MANY_CAPACITY),
    await joseSubject(sample),
    ...(await fastJwtSubjects(sample)),
    ...(await digitalbazaarSubjects(sample)),
    await didJwtVcSubject(sample),
  ]
  const steps = coldSteps(sample, coldHeaders)
  const onRound = (done: number, all: number) => onProgress?.('verifying, round', done, all)
  const measured = await measure(raw, [...subjects, ...steps], { ...options, onRound })

  const rows = measured.slice(0, subjects.length)
  const named = (name: string) => required(rows.find((row) => row.name === name))
  return {
    rows,
    steps: stepCosts(measured.slice(subjects.length), named('ours, cold')),
    bytesPerEntry: bytes,
    verdicts: verdictsOn(named, bytes),
  }
}

function verdictsOn(named: (name: string) => Measured, bytes: number | undefined): Verdict[] {
  const cold = named('ours, cold')
  const jose = named('jose')
  const warm = named('ours, warm, 1,000 headers')
  const fastJwt = named('fast-jwt, cached, 1,000 tokens')
  const many = named('ours, warm, 50,000 headers')
  return [
    atMost('cold ≤ 1.25 × raw', 1.25, cold.ratio, cold.quietRatio),
    atMost('cold ≤ 0.75 × raw, with libsodium', 0.75, cold.ratio, cold.quietRatio),
    atMost(
      'cold ≤ 0.5 of jose, with libsodium',
      0.5,
      cold.ratio / jose.ratio,
      cold.quietRatio / jose.quietRatio,
    ),
    atMost('cold ≤ 0.75 of jose', 0.75, cold.ratio / jose.ratio, cold.quietRatio / jose.quietRatio),
    atMost('warm ≤ 0.025 × raw', 0.025, warm.ratio, warm.quietRatio),
    atLeast(
      "warm ≥ 2.3 × as fast as fast-jwt's cache",
      2.3,
      fastJwt.ratio / warm.ratio,
      fastJwt.quietRatio / warm.quietRatio,
    ),
    atMost('warm ≤ 5 µs at 50,000', 5, many.us, many.quietUs),
    ...(bytes === undefined ? [] : [atMost('≤ 400 bytes per remembered entry', 400, bytes)]),
  ]
}

/** In no order that would lay neighbours in memory side by side. */
async function makeHeaders(sample: Sample, onDone: (done: number) => void): Promise<string[]> {
  const headers: string[] = []
  for (let n = 0; n < MANY; n++) {
    if (n % 1000 === 0) onDone(n)
    headers.push(await sample.header(n))
  }
  const random = createRandom(2)
  return headers
    .map((header) => ({ header, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ header }) => header)
}
