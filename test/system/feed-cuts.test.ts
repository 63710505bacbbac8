import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { feedCuts } from '../process/feed-cuts.ts'
import { cleanUp, createHome, type ServiceHome, startFurnished } from '../process/service-process.ts'

const SETUP_MS_MAX = 300_000
const TEST_MS_MAX = 300_000

let home: ServiceHome
let dev: DevFile

beforeAll(async () => {
  home = await createHome()
  dev = (await startFurnished(home)).dev
}, SETUP_MS_MAX)
afterAll(cleanUp, SETUP_MS_MAX)

describe('a feed whose connections are cut in every way', () => {
  test('is applied entry by entry, never called younger than it is, and accepts no caller too late (I-2, I-3, I-8, I-9)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const report = await feedCuts({
      port: home.port,
      dev,
      seed: 20_261_115,
      cuts: 20,
      entries: 200,
      followers: 4,
      silences: 1,
      haste: 4,
    })
    expect(report).toMatchObject({ misapplied: [], flattering: [], late: [] })
    expect(report.cuts.reset + report.cuts.end + report.cuts.silence).toBe(20)
    expect(Math.min(...Object.values(report.cuts))).toBeGreaterThan(0)
  })
})

describe('entries that are all written between two connections', () => {
  const forced = { seed: 1, cuts: 2, followers: 2, entries: 30, haste: 4, isForced: true } as const

  test('are neither missed nor hidden by a low age', { tags: 'long', timeout: TEST_MS_MAX }, async () => {
    const report = await feedCuts({ ...forced, port: home.port, dev })
    expect(report).toMatchObject({ misapplied: [], flattering: [], cuts: { end: 2 } })
  })

  test('control: are missed by a reader that forgets the cursor', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { misapplied } = await feedCuts({
      ...forced,
      port: home.port,
      dev,
      forgetsCursor: true,
      drainMsMax: 1000,
    })
    expect(misapplied.length).toBeGreaterThan(0)
  })

  test('control: revocation data looks younger than it is to a reader that counts from the last byte', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const { flattering } = await feedCuts({ ...forced, port: home.port, dev, trustsBytes: true })
    expect(flattering.length).toBeGreaterThan(0)
  })
})
