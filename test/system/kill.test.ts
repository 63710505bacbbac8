import { afterEach, describe, expect, test } from 'vitest'
import { startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { type KillReport, killRounds } from '../process/kill-rounds.ts'
import { findScript } from '../process/scripts.ts'
import { cleanUp } from '../process/service-process.ts'

const RUN_MS_MAX = 600_000
const HASTY = findScript(new URL('../process/hasty-service.ts', import.meta.url))

afterEach(cleanUp)

/**
 * Something of every kind was revoked in every round, and some was let live: otherwise nothing was
 * checked.
 */
function expectWork({ rounds, acknowledged, living }: KillReport): void {
  expect(Math.min(acknowledged.user, acknowledged.credential, acknowledged.token)).toBeGreaterThanOrEqual(
    rounds,
  )
  expect(living).toBeGreaterThan(0)
}

// `npm run faults` kills it 200 times on each store.
describe('a service that is killed under load, without warning', () => {
  test(
    'loses nothing that it has acknowledged, does nothing by half, and refuses what was revoked: SQLite (I-1, I-7, I-8)',
    async () => {
      const report = await killRounds({ rounds: 4 })
      expect(report.faults).toEqual([])
      expectWork(report)
    },
    RUN_MS_MAX,
  )

  test('the same on PostgreSQL', { tags: 'long', timeout: RUN_MS_MAX }, async () => {
    const server = await startPostgres()
    try {
      const report = await killRounds({ rounds: 2, databaseUrl: await server.createTables() })
      expect(report.faults).toEqual([])
      expectWork(report)
    } finally {
      await cleanUp()
      await server.stop()
    }
  })
})

describe('the checker', () => {
  test('sees what a service loses that acknowledges too early, and no loss when that one is given time to write', {
    tags: 'long',
    timeout: RUN_MS_MAX,
  }, async () => {
    const report = await killRounds({
      rounds: 2,
      entry: HASTY,
      // The second kill comes right after an acknowledgement.
      loadMsMax: 0,
      settleMs: (round) => (round === 1 ? 2000 : undefined),
    })
    const [settled, hurried] = report.lostAfter
    expect(settled).toBe(0)
    expect(hurried).toBeGreaterThan(0)
    expectWork(report)
  })
})
