import Database from 'better-sqlite3'
import type { SqlValue, Transaction } from '../../src/store/transaction.ts'

interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** The statements of an operation in an empty store that look credentials or their links up. */
function findStatements(operation: Transaction<unknown>): readonly Statement[] {
  const found: Statement[] = []
  for (let step = operation.next(); !step.done; step = operation.next([]))
    if ('sql' in step.value && /(?:FROM|UPDATE) credential(?:s|_links)\b/.test(step.value.sql))
      found.push(step.value)
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
