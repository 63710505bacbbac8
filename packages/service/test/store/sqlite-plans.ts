import Database from 'better-sqlite3'
import type { SqlValue, Transaction } from '../../src/store/transaction.ts'

interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** The statements of an operation, in a store that has only the head of the site. */
export function findStatements(operation: Transaction<unknown>): readonly Statement[] {
  const found: Statement[] = []
  let step = operation.next()
  while (!step.done) {
    const sql = 'sql' in step.value ? step.value.sql : ''
    if ('sql' in step.value) found.push(step.value)
    step = operation.next(/FROM heads\b/.test(sql) ? [{ seq: 9, claimed_seq: null }] : [])
  }
  return found
}

/** How SQLite runs these statements. */
function findPlan(file: string, statements: readonly Statement[]): readonly string[] {
  const db = new Database(file)
  try {
    return statements.flatMap(({ sql, values }) => {
      const bound = Object.fromEntries(values.map((value, i) => [i + 1, value]))
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(bound) as { readonly detail: string }[]
      return plan.map(({ detail }) => detail)
    })
  } finally {
    db.close()
  }
}

/** How each statement of an operation reads credentials and their links. */
export function findSteps(file: string, operation: Transaction<unknown>): readonly string[] {
  const statements = findStatements(operation)
  const ofCredentials = statements.filter(({ sql }) => /(?:FROM|UPDATE) credential(?:s|_links)\b/.test(sql))
  return findPlan(file, ofCredentials).filter((step) =>
    /^(?:SEARCH|SCAN) (?:[lc]|credentials|credential_links)\b/.test(step),
  )
}

/** How an operation reads all its tables. */
export function findAllSteps(file: string, operation: Transaction<unknown>): readonly string[] {
  return findPlan(file, findStatements(operation))
}
