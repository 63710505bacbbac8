const { readFileSync } = require('node:fs')

/**
 * What an integrator's users download: minified and gzipped, from the sources. JWT access tokens,
 * DPoP proofs and cut-offs added 5.3 kB to `verify` and 10 kB to a guard: `decide` takes all kinds
 * of presentations, so that service and guard run one list of checks (decision 66). Each endpoint
 * adds about 10 bytes to the table of the typed client, which the fetch for agents contains.
 * The times that guards report (decision 83) added 0.8 kB to a guard, and the conversion of ECDSA
 * signatures (decision 108) 0.1 kB to everything that verifies. Messages for wrong use and for feeds
 * that a proxy holds back added 0.1 kB to a guard.
 */
const fromSources = (config) => ({ ...config, conditions: ['countersign-source', 'module'] })

/** The scripts and styles that the page of the console names. */
function firstFiles() {
  const page = readFileSync('../packages/console/dist/index.html', 'utf8')
  return [...page.matchAll(/\/console\/(assets\/[^"]+)/g)].map(
    ([, name]) => `../packages/console/dist/${name}`,
  )
}

module.exports = [
  {
    name: 'verify alone',
    path: '../packages/core/src/index.ts',
    import: '{ verify }',
    gzip: true,
    limit: '22 kB',
  },
  {
    name: 'a whole verifier: verify, view, memory, nonces',
    path: '../packages/core/src/index.ts',
    import:
      '{ verify, explain, SiteView, parseEntry, checkEntry, parseSnapshotLine, checkSnapshot, parseHeartbeat, checkHeartbeat, SignatureCache, createMemoryNonces, createMonotonicClock, holderRequestFrom, parseScope, parseSiteId }',
    gzip: true,
    limit: '35.4 kB',
  },
  {
    name: 'a guard with one adapter, the core included',
    import: {
      '../packages/sdk/src/index.ts': '{ createGuard }',
      '../packages/sdk/src/adapters/express.ts': '{ requireCredential }',
    },
    gzip: true,
    limit: '59.1 kB',
    modifyEsbuildConfig: fromSources,
  },
  {
    name: 'a guard with one adapter, without the core',
    import: {
      '../packages/sdk/src/index.ts': '{ createGuard }',
      '../packages/sdk/src/adapters/express.ts': '{ requireCredential }',
    },
    gzip: true,
    limit: '21.9 kB',
    ignore: ['@countersign/core'],
    modifyEsbuildConfig: fromSources,
  },
  {
    name: 'a fetch for agents, the core included',
    path: '../packages/sdk/src/index.ts',
    import: '{ agentFetch }',
    gzip: true,
    limit: '18.4 kB',
    modifyEsbuildConfig: fromSources,
  },
  {
    name: 'the typed client, the core included',
    path: '../packages/sdk/src/index.ts',
    import: '{ createClient }',
    gzip: true,
    limit: '11.6 kB',
    modifyEsbuildConfig: fromSources,
  },
  {
    name: 'the console: what the first page loads',
    path: [...firstFiles(), '../packages/console/dist/assets/overview-*.js'],
    disablePlugins: ['@size-limit/esbuild'],
    gzip: true,
    limit: '47.9 kB',
  },
  {
    name: 'the console: everything in English',
    path: [
      '../packages/console/dist/assets/*',
      '!../packages/console/dist/assets/{language,right-to-left}-*',
    ],
    disablePlugins: ['@size-limit/esbuild'],
    gzip: true,
    limit: '178.7 kB',
  },
  {
    name: 'the console: the words and styles of Arabic',
    path: '../packages/console/dist/assets/{language-ar,right-to-left}-*',
    disablePlugins: ['@size-limit/esbuild'],
    gzip: true,
    limit: '32 kB',
  },
]
