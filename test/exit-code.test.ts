import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** What a run of tests does that fails: it sets the code, and waits until nothing is left to do. */
const RUN = `
const { startOwnPostgres } = await import('./packages/service/test/store/postgres-server.ts')
const server = await startOwnPostgres()
process.exitCode = 7
await server.stop()
`

test('a process that has started PostgreSQL for its tests keeps its exit code', () => {
  const args = ['--conditions=countersign-source', '--input-type=module', '-e', RUN]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect(status, stderr).toBe(7)
})

test('a run with a test that fails ends with another code than 0', () => {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'service', 'store/fails-on-purpose']
  const env = { ...process.env, TEST_FAILS_ON_PURPOSE: '1', TEST_POSTGRES_STARTER: undefined }
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' })
  expect([status, stdout]).toEqual([1, expect.stringContaining('0 passed, 1 failed')])
})
