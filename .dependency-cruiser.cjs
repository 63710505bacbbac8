/**
 * The arrows of the house (ARCHITECTURE.md). Inside the core a folder may import itself and the folders below it in this list, never one
 * above it.
 */
const CORE_FOLDERS = ['log', 'verify', 'holder', 'credential', 'proof', 'encoding']

/** From the door of the service down to its store. */
const SERVICE_FLOORS = [
  'operations',
  'service',
  'app',
  'routes',
  'actions',
  'feed',
  'access',
  'log',
  'time',
  'store',
  'sealing',
]

/** What an integrator touches, down to what follows the log. */
const SDK_FLOORS = ['testing', 'adapters', 'guard', 'feed', 'shared']

/** One rule for each floor but the topmost: it may not import anything above it. A floor is a folder, or a file of that name. */
function arrows(room, floors) {
  return floors.slice(1).map((floor, i) => {
    const above = floors.slice(0, i + 1)
    return {
      name: `${room}-${floor}-is-below-${above.at(-1)}`,
      comment: `${floor} may not import ${above.join(', ')}: the arrows point the other way.`,
      severity: 'error',
      from: { path: `^packages/${room}/src/${floor}[/.]` },
      // position.ts imports nothing: the types of a log position, for all floors.
      to: {
        path: `^packages/${room}/src/(?:${above.join('|')})[/.]`,
        pathNot: '^packages/core/src/log/position[.]ts$',
      },
    }
  })
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      comment: 'Two files that need each other are one file, or three.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file that imports nothing and that nothing imports has been forgotten.',
      severity: 'error',
      from: { orphan: true, pathNot: ['^[^/]+$', '^scripts/', '\\.test\\.ts$', '\\.setup\\.ts$'] },
      to: {},
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    ...arrows('core', CORE_FOLDERS),
    ...arrows('service', SERVICE_FLOORS),
    ...arrows('service', ['keys', 'store']),
    ...arrows('sdk', SDK_FLOORS),
    ...arrows('sdk', ['agent', 'client', 'shared']),
    ...arrows('sdk', ['site', 'client']),
    {
      name: 'sdk-runs-everywhere',
      comment:
        'The SDK runs in browsers and on the edge: no builtins, no contract (it loads zod), no frameworks.',
      severity: 'error',
      from: { path: '^packages/sdk/src/' },
      to: { path: ['^packages/core/src/contract/', 'node_modules/'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sdk-has-no-builtins',
      severity: 'error',
      from: { path: '^packages/sdk/src/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'no-import-of-contract',
      comment: 'contract/ is a front door of its own, outside the size budget; only its tests look in.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: '^packages/core/src/contract/' },
      to: { path: '^packages/core/src/contract/' },
    },
    {
      name: 'core-folders-do-not-use-the-front-door',
      comment: 'Inside the core, files import each other by name.',
      severity: 'error',
      from: { path: '^packages/core/src/.+/' },
      to: { path: '^packages/core/src/index\\.ts$' },
    },
    {
      name: 'core-is-pure',
      comment:
        'The core runs in browsers and on the edge. It asks for node:crypto at run time and imports no builtin.',
      severity: 'error',
      from: { path: '^packages/core/src/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'core-stays-at-home',
      comment: 'The core imports nothing from the rest of the repository.',
      severity: 'error',
      from: { path: '^packages/core/src/' },
      to: { path: '^(?:packages|scripts|bench|test)/', pathNot: '^packages/core/src/' },
    },
    {
      name: 'core-has-few-dependencies',
      comment: 'At most four small ones is the budget.',
      severity: 'error',
      from: { path: '^packages/core/src/' },
      to: { path: 'node_modules/', pathNot: 'node_modules/zod/' },
    },
    {
      name: 'zod-only-in-contract',
      comment: 'Schemas and their library are no part of what a verifier loads.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: '^packages/core/src/contract/' },
      to: { path: 'node_modules/zod/' },
    },
    {
      name: 'contract-needs-zod-only',
      severity: 'error',
      from: { path: '^packages/core/src/contract/' },
      to: { path: 'node_modules/', pathNot: 'node_modules/zod/' },
    },
    {
      name: 'no-import-of-cli',
      comment: 'cli → service → core ← sdk ← cli',
      severity: 'error',
      from: { path: '^packages/(?:core|sdk|service|console)/src/' },
      to: { path: '^packages/cli/' },
    },
    {
      name: 'cli-uses-front-doors',
      severity: 'error',
      from: { path: '^packages/cli/src/' },
      to: {
        path: '^packages/(?:core|sdk|service)/src/',
        pathNot:
          '^packages/(?:core/src/index|sdk/src/(?:index|client/client|feed/index)|service/src/index)\\.ts$',
      },
    },
    {
      name: 'cli-starts-at-once',
      comment:
        'Help must not wait for what only some commands need: only the folders import the packages at their top, and are themselves imported when needed.',
      severity: 'error',
      from: {
        path: '^packages/cli/src/(?:(?:commands|terminal|input|service)/)?[^/]+\\.ts$',
        pathNot: '^packages/cli/src/parse\\.ts$',
      },
      to: {
        path: [
          '^packages/(?:core|sdk|service)/src/',
          '^packages/cli/src/(?:credential|doctor|feed)/',
          '^packages/cli/src/parse\\.ts$',
          'node_modules/',
        ],
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'service-does-not-import-sdk',
      severity: 'error',
      from: { path: '^packages/service/src/' },
      to: { path: '^packages/(?:sdk|console)/src/' },
    },
    {
      name: 'sdk-imports-core-only',
      severity: 'error',
      from: { path: '^packages/sdk/src/' },
      to: { path: '^packages/(?:service|console)/src/' },
    },
    {
      name: 'console-uses-contract-only',
      comment: 'The console talks HTTP.',
      severity: 'error',
      from: { path: '^packages/console/src/' },
      to: { path: '^packages/(?!console/|core/src/contract/)' },
    },
    {
      name: 'browser-scripts-stand-alone',
      comment: 'They are served one by one as they are: nothing but each other, and types.',
      severity: 'error',
      from: { path: '^packages/service/src/browser/' },
      to: { pathNot: '^packages/service/src/browser/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-open-knows-stores',
      comment:
        'open.ts is for the service, maintenance.ts for operations; all other code uses the port, store/store.ts.',
      severity: 'error',
      from: {
        path: '^packages/service/src/',
        pathNot: [
          '^packages/service/src/store/(?:open|maintenance)\\.ts$',
          '^packages/service/src/store/[^/]+/',
        ],
      },
      // The operations and the migrations are what the stores have in common.
      to: { path: '^packages/service/src/store/(?!operations/|migrations/)[^/]+/' },
    },
    {
      name: 'stores-do-not-know-each-other',
      comment: 'What two stores share stands beside them, not in one of them.',
      severity: 'error',
      from: { path: '^packages/service/src/store/([^/]+)/' },
      to: { path: '^packages/service/src/store/(?!operations/|migrations/|$1/)[^/]+/' },
    },
    {
      name: 'only-stores-run-operations',
      comment:
        'An operation is a transaction in parts; outside of store/ there is only the port, with the types of its records.',
      severity: 'error',
      from: { path: '^packages/service/src/(?!store/)' },
      to: {
        path: '^packages/service/src/store/(?:operations|migrations)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'http-and-pages-do-not-import-routes',
      comment: 'What they share with routes is in answer.ts and route.ts, below all of them.',
      severity: 'error',
      from: { path: '^packages/service/src/(?:http|pages|documents)/' },
      to: { path: '^packages/service/src/routes/' },
    },
    {
      name: 'one-router',
      comment: 'http/router.ts finds what answers a URL, and nothing else does.',
      severity: 'error',
      from: { path: '^packages/service/src/', pathNot: '^packages/service/src/http/router[.]ts$' },
      to: { path: 'node_modules/(?:@fastify/|fastify/|find-my-way/)' },
    },
    {
      name: 'sources-do-not-import-tests',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { path: ['^(?:test|bench|scripts)/', '^packages/[^/]+/test/'] },
    },
  ],
  options: {
    // TypeScript 7 has no API that dependency-cruiser could use.
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^packages/[^/]+/dist/', '^vectors/'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['countersign-source', 'types', 'import', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.cjs'],
    },
  },
}
