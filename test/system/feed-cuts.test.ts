import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { feedCuts } from '../process/feed-cuts.ts'
import { cleanUp, createHome, furnish, type ServiceHome, startService } from '../process/service-process.ts'

const SETUP_MS_MAX = 300_000
const TEST_MS_MAX = 300_000

let home: ServiceHome
let dev: DevFile

beforeAll(async () => {
  home = await createHome()
  dev = await furnish(home)
  await startService(home)
}, SETUP_MS_MAX)
afterAll(cleanUp, SETUP_MS_MAX)

describe('a feed whose connections are cut in every way', () => {
  test('is applied entry by entry, never called younger than it is, and accepts no caller too late (I-2, I-3, I-8, I-9)', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const report = await feedCuts({ port: home.port, dev, seed: 20_261_115, cuts: 50, entries: 1000 })
    expect(report).toMatchObject({ misapplied: [], flattering: [], late: [] })
    expect(report.cuts.reset + report.cuts.end + report.cuts.silence).toBe(50)
    expect(Math.min(...Object.values(report.cuts))).toBeGreaterThan(0)
  })

  test('control: entries are missed by a reader that forgets the cursor', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const { misapplied } = await feedCuts({
      port: home.port,
      dev,
      seed: 1,
      cuts: 24,
      entries: 400,
      followers: 4,
      silences: 0,
      forgetsCursor: true,
      drainMsMax: 1000,
    })
    expect(misapplied.length).toBeGreaterThan(0)
  })

  test('control: revocation data looks younger than it is to a reader that counts from the last byte', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const { flattering } = await feedCuts({
      port: home.port,
      dev,
      seed: 2,
      cuts: 12,
      entries: 200,
      followers: 4,
      silences: 0,
      trustsBytes: true,
    })
    expect(flattering.length).toBeGreaterThan(0)
  })
})
