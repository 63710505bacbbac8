import { afterEach, describe, expect, test } from 'vitest'
import { startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { type KillReport, killRounds } from '../process/kill-rounds.ts'
import { cleanUp } from '../process/service-process.ts'

const RUN_MS_MAX = 600_000
const HASTY = new URL('../process/hasty-service.ts', import.meta.url)

afterEach(cleanUp, 30_000)

const lostIn = ({ faults }: KillReport) => faults.filter(({ kind }) => kind === 'lost').length

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

describe('a service that is killed under load, without warning', () => {
  test(
    'loses nothing that it has acknowledged, does nothing by half, and refuses what was revoked: SQLite (I-1, I-7, I-8)',
    async () => {
      const report = await killRounds({ rounds: 20 })
      expect(report.faults).toEqual([])
      expectWork(report)
    },
    RUN_MS_MAX,
  )

  test(
    'the same on PostgreSQL',
    async () => {
      const server = await startPostgres()
      try {
        const report = await killRounds({ rounds: 10, databaseUrl: await server.createTables() })
        expect(report.faults).toEqual([])
        expectWork(report)
      } finally {
        await cleanUp()
        await server.stop()
      }
    },
    RUN_MS_MAX,
  )
})

describe('the checker', () => {
  test(
    'sees what a service loses that acknowledges too early',
    async () => {
      expect(lostIn(await killRounds({ rounds: 2, entry: HASTY }))).toBeGreaterThan(0)
    },
    RUN_MS_MAX,
  )

  test(
    'sees no loss with that same service when it is given time to write before it is killed',
    async () => {
      const report = await killRounds({ rounds: 1, entry: HASTY, settleMs: 2000 })
      expect(lostIn(report)).toBe(0)
      expectWork(report)
    },
    RUN_MS_MAX,
  )
})
