import { afterAll, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { ReaderPool } from '../../src/store/postgres/reader-pool.ts'
import { startPostgres } from './postgres-server.ts'

const postgres = await startPostgres()
afterAll(() => postgres.stop())

it('limits the time of each statement, not of the whole reading', { tags: 'long' }, async () => {
  const readers = new ReaderPool({ url: await postgres.createDatabase(), max: 1, answerMsMax: 2000 })
  try {
    const startedMs = performance.now()
    const read = readers.read(async (query) => {
      while (performance.now() - startedMs < 2500) await query('SELECT pg_sleep(0.1)')
      return 'all'
    })
    expect(await read).toBe('all')
    const slow = readers.read((query) => query('SELECT pg_sleep(4)'))
    await expect(slow).rejects.toThrow(StoreUnavailable)
    // The connection that did not answer was replaced.
    expect(await readers.read((query) => query('SELECT 1 AS one'))).toMatchObject([{ one: 1 }])
  } finally {
    await readers.end()
  }
})
