import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { createSourceBundle } from './scripts/bundle-sources.ts'
import { LONG, PlainSummary } from './scripts/plain-summary.ts'

// Workspace packages are tested from their sources, without a build.
const conditions = ['countersign-source', 'module', 'node', 'development|production']

/**
 * The tests that prove the WebCrypto path: every backend and vector, all that signs or hashes,
 * every decision.
 */
const WEB_RUNTIME = [
  'web-runtime',
  'proof/*',
  'holder/{check,sign,interop,content-digest,signature-base}',
  'verify/*',
  'credential/{issue,delegate,header}',
  'log/{chain,signed-head,signed-introspection,feed-key-statement,epoch-statement}',
]

/** Builds the console once, before many processes would do it at the same time. */
const CONSOLE = 'test/build-console.setup.ts'

/** Bundles the command line and the writer thread, which start faster than from their sources. */
const BUNDLE = 'test/bundle.setup.ts'

/** One PostgreSQL for all tests, which the first that needs it starts. */
const POSTGRES = 'test/postgres.setup.ts'

/**
 * These use real browsers and processes, which a build server with little to spare can starve for
 * minutes. A second try keeps that from failing a change; the summary names each test that needed
 * one as flaky, so that its cause is found.
 */
const retry = process.env.CI === undefined ? 0 : 1

/**
 * To load the modules takes longer than most test files, so a worker loads them once. A module that
 * tests share must leave nothing behind that the next file would notice.
 */
const isolate = false

const bundle = createSourceBundle()

export default defineConfig({
  plugins: [bundle.plugin],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    pool: 'threads',
    // Most of them wait for processes, disks and clocks: one at a time would leave a core idle.
    maxWorkers: 3,
    // No test asserts how long something takes; these only end what hangs, also on a machine that
    // has much else to do.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Processes that tests start from the sources begin in half the CPU time (1.4 s without, 0.7 s with it).
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile'),
      TEST_MAIN: bundle.main,
      TEST_COMMAND_HOST: bundle.commandHost,
      TEST_FURNISHED: bundle.furnished,
      TEST_GUARDS: bundle.guards,
      TEST_SCRIPTS: bundle.scripts,
    },
    tags: [
      { name: LONG, description: 'takes more than about a second: npm run test-all, and the build server' },
    ],
    reporters: ['default', new PlainSummary()],
    projects: [
      {
        extends: true,
        test: {
          name: 'core',
          isolate,
          include: ['packages/core/test/**/*.test.ts'],
          exclude: ['packages/core/test/web-runtime.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'core-web',
          isolate,
          include: WEB_RUNTIME.map((files) => `packages/core/test/${files}.test.ts`),
          setupFiles: ['packages/core/test/web-runtime.setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'service',
          isolate,
          include: ['packages/service/test/**/*.test.ts'],
          // Native modules do not like being loaded into many threads that come and go.
          pool: 'forks',
          globalSetup: [BUNDLE, POSTGRES],
        },
      },
      {
        extends: true,
        test: { name: 'sdk', isolate, include: ['packages/sdk/test/**/*.test.ts'], globalSetup: BUNDLE },
      },
      {
        extends: true,
        test: {
          name: 'cli',
          isolate,
          include: ['packages/cli/test/**/*.test.ts'],
          setupFiles: 'packages/cli/test/countersign.setup.ts',
          // Each file has a process for its commands, and a service beside it.
          pool: 'forks',
          globalSetup: [BUNDLE, POSTGRES],
        },
      },
      {
        extends: true,
        test: {
          name: 'sdk-web',
          isolate,
          include: ['guard/*', 'feed/{log-follower,snapshot-pages,snapshot-reader}'].map(
            (files) => `packages/sdk/test/${files}.test.ts`,
          ),
          setupFiles: ['packages/core/test/web-runtime.setup.ts'],
          globalSetup: [BUNDLE, POSTGRES],
        },
      },
      {
        extends: true,
        test: {
          name: 'repository',
          isolate,
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**', 'test/browser/**', 'test/console/**'],
          globalSetup: [CONSOLE, BUNDLE, POSTGRES],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          isolate,
          // Each look at a page takes time of the browser, too.
          expect: { poll: { timeout: 60_000, interval: 100 } },
          include: ['test/browser/*.test.ts', 'test/console/*.test.ts'],
          pool: 'forks',
          retry,
          globalSetup: [CONSOLE, BUNDLE, POSTGRES],
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          isolate,
          include: ['test/system/*.test.ts'],
          // These wait most: on two cores they take 167 s with three workers and 132 s with five.
          maxWorkers: 5,
          sequence: { groupOrder: 1 },
          pool: 'forks',
          retry,
          globalSetup: [BUNDLE, POSTGRES],
        },
      },
    ],
  },
})
