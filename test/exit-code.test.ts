import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const helper = pathToFileURL(join(root, 'packages/service/test/store/postgres-server.ts')).href

/** What tests on PostgreSQL do. */
const RUN = `
const { startOwnPostgres } = await import(${JSON.stringify(helper)})
const server = await startOwnPostgres()
await server.stop()
`
const IN_THREAD = `
const { Worker } = await import('node:worker_threads')
new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(RUN)})))
`

test.each([
  ['that sets its code', `${RUN} process.exitCode = 7`, 7],
  ['that ends itself', `${RUN} process.exit(7)`, 7],
  ['that just ends', RUN, 0],
  ['with a thread', IN_THREAD, 0],
])(
  'a process %s keeps its exit code after it has started PostgreSQL',
  { tags: 'long' },
  (_, script, code) => {
    const args = ['--conditions=countersign-source', '--input-type=module', '-e', script]
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    expect([status, stderr]).toEqual([code, ''])
  },
)

test('a run with a test that fails ends with 1', () => {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'service', 'store/fails-on-purpose']
  const env = { ...process.env, TEST_FAILS_ON_PURPOSE: '1', TEST_POSTGRES_STARTER: undefined }
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' })
  expect([status, stdout]).toEqual([1, expect.stringContaining('0 passed, 1 failed')])
})
