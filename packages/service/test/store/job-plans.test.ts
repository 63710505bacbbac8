import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { webhookLoad } from '../../src/store/operations/deliveries.ts'
import { purgeExpired } from '../../src/store/operations/purge-expired.ts'
import { rows, type Transaction } from '../../src/store/transaction.ts'
import { NOW } from './fixtures.ts'
import { findAllSteps, findStatements } from './sqlite-plans.ts'
import { forEachStoreWriter, newFile, removeFiles, type StoreWriter, withStore } from './store-writer.ts'

/**
 * Tables with a row for each node, webhook, verifier or source, or with the rows of two days: the
 * purge reads all of these. Deliveries, tokens and others have far more rows.
 */
const SMALL = ['w', 'f', 'feed_nodes', 'nodes', 'head_readers', 't', 'log', 'key_sources']

/** Without the rest: an empty store would give it no row. */
function* firstStep(operation: Transaction<unknown>): Transaction<void> {
  const step = operation.next()
  if (step.done !== true) yield step.value
}

/** SQLite plans without knowing how many rows there are, so an empty store is enough. */
describe('what a node does again and again, on SQLite', () => {
  afterAll(removeFiles)
  const file = newFile()
  beforeAll(async () => {
    const writer: StoreWriter = { place: { kind: 'sqlite', file }, sql: async () => [] }
    await withStore(writer, async () => {})
  })

  const findScanned = (operation: Transaction<unknown>) =>
    findAllSteps(file, operation).flatMap((step) => /^SCAN (\S+)/.exec(step)?.[1] ?? [])

  it('the purge reads all rows of small tables only', () => {
    expect(findScanned(purgeExpired(NOW)).filter((name) => !SMALL.includes(name))).toEqual([])
  })

  it('control: with a plain join, the purge reads all deliveries', () => {
    const join = 'SELECT d.delivery_id FROM webhooks w JOIN deliveries d ON d.webhook_id = w.webhook_id'
    expect(findScanned(rows(`${join} WHERE w.deleted_at <= $1`, NOW))).toContain('d')
  })

  it('the metrics of webhooks read pending and failed deliveries only', () => {
    const ofDeliveries = findAllSteps(file, firstStep(webhookLoad())).filter((step) =>
      step.includes('deliveries'),
    )
    expect(ofDeliveries.length).toBeGreaterThan(0)
    expect(ofDeliveries.filter((step) => !/INDEX deliveries_(?:pending|failed)\b/.test(step))).toEqual([])
  })
})

forEachStoreWriter('the purge', (newWriter) => {
  it('does not read rows that have not expired when PostgreSQL believes that all have', {
    tags: 'long',
  }, async () => {
    const { place, sql } = await newWriter()
    if (place.kind === 'sqlite') return
    const ends = `SELECT 'proof', CAST(i AS TEXT), 1 FROM generate_series(1, 50000) i`
    await sql(`INSERT INTO used_once (kind, sha256, expires_at) ${ends}`)
    await sql('ALTER TABLE used_once SET (autovacuum_enabled = off)')
    await sql('ANALYZE used_once')
    await sql(`UPDATE used_once SET expires_at = ${NOW + 60_000}`)
    const statement = findStatements(purgeExpired(NOW)).find((each) => each.sql.includes('FROM used_once'))
    if (statement === undefined) throw new Error('there is no such statement')
    const plan = JSON.stringify(
      await sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.sql}`, ...statement.values),
    )
    const counts = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":(\d+)/g)]
    expect(counts.length).toBeGreaterThan(0)
    // A hash join reads one row of the table before it finds that there is nothing to join.
    expect(Math.max(...counts.map(([, count]) => Number(count)))).toBeLessThanOrEqual(1)
  })
})
