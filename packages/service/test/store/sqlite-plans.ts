import Database from 'better-sqlite3'
import type { SqlValue, Transaction } from '../../src/store/transaction.ts'

interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/**
 * The statements of an operation that look credentials or their links up, in a store that has only
 * the head of the site.
 */
function findStatements(operation: Transaction<unknown>): readonly Statement[] {
  const found: Statement[] = []
  let step = operation.next()
  while (!step.done) {
    const sql = 'sql' in step.value ? step.value.sql : ''
    if ('sql' in step.value && /(?:FROM|UPDATE) credential(?:s|_links)\b/.test(sql)) found.push(step.value)
    step = operation.next(/FROM heads\b/.test(sql) ? [{ seq: 9, claimed_seq: null }] : [])
  }
  return found
}

/** How each statement of an operation reads credentials and their links. */
export function findSteps(file: string, operation: Transaction<unknown>): readonly string[] {
  const db = new Database(file)
  try {
    return findStatements(operation).flatMap(({ sql, values }) => {
      const bound = Object.fromEntries(values.map((value, i) => [i + 1, value]))
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(bound) as { readonly detail: string }[]
      return plan
        .map(({ detail }) => detail)
        .filter((detail) => /^(?:SEARCH|SCAN) (?:[lc]|credentials|credential_links)\b/.test(detail))
    })
  } finally {
    db.close()
  }
}
