import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** What tests on PostgreSQL do. */
const RUN = `
const { startOwnPostgres } = await import('./packages/service/test/store/postgres-server.ts')
const server = await startOwnPostgres()
await server.stop()
`

test.each([
  ['process.exitCode = 7', 7],
  ['process.exit(7)', 7],
  ['', 0],
])('a process that has started PostgreSQL for its tests keeps its exit code: %j', (end, code) => {
  const args = ['--conditions=countersign-source', '--input-type=module', '-e', RUN + end]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([code, ''])
})

test('so does a thread', () => {
  const thread = `
    const { Worker } = await import('node:worker_threads')
    const run = ${JSON.stringify(RUN)}
    const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(run.replace('./', ${JSON.stringify(`file://${root}/`)}))))
    worker.on('error', (fault) => console.error(fault))
  `
  const args = ['--conditions=countersign-source', '--input-type=module', '-e', thread]
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
})

test('a run with a test that fails ends with another code than 0', () => {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'service', 'store/fails-on-purpose']
  const env = { ...process.env, TEST_FAILS_ON_PURPOSE: '1', TEST_POSTGRES_STARTER: undefined }
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' })
  expect([status, stdout]).toEqual([1, expect.stringContaining('0 passed, 1 failed')])
})
