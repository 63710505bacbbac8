import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

// For test/exit-code.test.ts. It needs PostgreSQL, because that has once changed the exit code.
const isWanted = process.env.TEST_FAILS_ON_PURPOSE !== undefined

let server: PostgresServer | undefined
beforeAll(async () => {
  if (isWanted) server = await startPostgres()
})
afterAll(() => server?.stop())

test.runIf(isWanted)('this test fails on purpose', () => {
  expect(server).toBeUndefined()
})
