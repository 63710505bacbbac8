/** What an integrator's users download: minified and gzipped, from the sources. */
const fromSources = (config) => ({ ...config, conditions: ['countersign-source', 'module'] })

module.exports = [
  {
    name: 'verify alone',
    path: 'packages/core/src/index.ts',
    import: '{ verify }',
    gzip: true,
    limit: '15.75 kB',
  },
  {
    name: 'a whole verifier: verify, view, memory, nonces',
    path: 'packages/core/src/index.ts',
    import:
      '{ verify, explain, SiteView, parseEntry, checkEntry, parseSnapshotLine, checkSnapshot, parseHeartbeat, checkHeartbeat, SignatureCache, createMemoryNonces, createMonotonicClock, holderRequestFrom, parseScope, parseSiteId }',
    gzip: true,
    limit: '25.5 kB',
  },
  {
    name: 'a guard with one adapter, the core included',
    import: {
      'packages/sdk/src/index.ts': '{ createGuard }',
      'packages/sdk/src/adapters/express.ts': '{ requireCredential }',
    },
    gzip: true,
    limit: '43.5 kB',
    modifyEsbuildConfig: fromSources,
  },
  {
    name: 'a guard with one adapter, without the core',
    import: {
      'packages/sdk/src/index.ts': '{ createGuard }',
      'packages/sdk/src/adapters/express.ts': '{ requireCredential }',
    },
    gzip: true,
    limit: '16.8 kB',
    ignore: ['@countersign/core'],
    modifyEsbuildConfig: fromSources,
  },
  {
    name: 'a fetch for agents, the core included',
    path: 'packages/sdk/src/index.ts',
    import: '{ agentFetch }',
    gzip: true,
    limit: '17.5 kB',
    modifyEsbuildConfig: fromSources,
  },
  {
    name: 'the typed client, the core included',
    path: 'packages/sdk/src/index.ts',
    import: '{ createClient }',
    gzip: true,
    limit: '11 kB',
    modifyEsbuildConfig: fromSources,
  },
]
