/**
 * The allowed imports (ARCHITECTURE.md). A layer may import itself and the layers after it in this
 * list. A layer is a folder, or a file of that name.
 */
const CORE_LAYERS = ['log', 'verify', 'jwt', 'holder', 'credential', 'proof', 'encoding']

const SERVICE_LAYERS = [
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

const SDK_LAYERS = ['testing', 'adapters', 'guard', 'feed', 'shared']

/** One rule for each layer but the first: it may not import the layers before it. */
function arrows(name, layers) {
  return layers.slice(1).map((layer, i) => {
    const above = layers.slice(0, i + 1)
    return {
      name: `${name}-${layer}-is-below-${above.at(-1)}`,
      comment: `${layer} may not import ${above.join(', ')}: the arrows point the other way.`,
      severity: 'error',
      from: { path: `^packages/${name}/src/${layer}[/.]` },
      // All layers use the types of a log position. position.ts imports nothing.
      to: {
        path: `^packages/${name}/src/(?:${above.join('|')})[/.]`,
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
      comment: 'Merge the two files, or move what both need to a third one.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'This file imports nothing, and no file imports it: delete it.',
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
    ...arrows('core', CORE_LAYERS),
    ...arrows('service', SERVICE_LAYERS),
    ...arrows('service', ['keys', 'store']),
    ...arrows('sdk', SDK_LAYERS),
    ...arrows('sdk', ['agent', 'client', 'shared']),
    ...arrows('sdk', ['site', 'client']),
    {
      name: 'sdk-client-does-not-import-guard',
      comment: 'A program that only calls the service loads no guard: shared/ has what both need.',
      severity: 'error',
      from: { path: '^packages/sdk/src/(?:agent|site|client)/' },
      to: { path: '^packages/sdk/src/(?:testing|adapters|guard)/' },
    },
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
      comment: 'contract/ is its own entry point (@countersign/core/contract), outside the size budget.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: '^packages/core/src/contract/' },
      to: { path: '^packages/core/src/contract/' },
    },
    {
      name: 'core-folders-do-not-import-index',
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
      name: 'core-imports-nothing-else',
      comment: 'The core imports nothing from the rest of the repository.',
      severity: 'error',
      from: { path: '^packages/core/src/' },
      to: { path: '^(?:packages|scripts|bench|test)/', pathNot: '^packages/core/src/' },
    },
    {
      name: 'core-has-few-dependencies',
      comment: 'The budget is four small dependencies.',
      severity: 'error',
      from: { path: '^packages/core/src/' },
      to: { path: 'node_modules/', pathNot: 'node_modules/zod/' },
    },
    {
      name: 'zod-only-in-contract',
      comment: 'A verifier loads neither the schemas nor their library.',
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
      name: 'cli-imports-entry-points',
      severity: 'error',
      from: { path: '^packages/cli/src/' },
      to: {
        path: '^packages/(?:core|sdk|service)/src/',
        pathNot:
          '^packages/(?:core/src/index|sdk/src/(?:index|adapters/express|client/client|feed/index)|service/src/index)\\.ts$',
      },
    },
    {
      name: 'cli-loads-lazily',
      comment:
        'Help loads nothing that only some commands need. These files load packages and folders lazily.',
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
      name: 'console-uses-core-only',
      comment: 'The console talks HTTP. It verifies the log and credentials with the core.',
      severity: 'error',
      from: { path: '^packages/console/src/' },
      to: { path: '^packages/(?!console/|core/src/)' },
    },
    {
      name: 'console-uses-types-of-the-contract',
      comment: 'The contract loads zod.',
      severity: 'error',
      from: { path: '^packages/console/src/' },
      to: { path: '^packages/core/src/contract/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'browser-scripts-import-each-other-only',
      comment: 'Each script is served as it is. It may import other scripts, and types.',
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
      // The operations, the migrations and checkpoints are what the stores have in common.
      to: { path: '^packages/service/src/store/(?!operations/|migrations/|checkpoints/)[^/]+/' },
    },
    {
      name: 'stores-do-not-know-each-other',
      comment: 'What two stores share is in store/, not in one of them.',
      severity: 'error',
      from: { path: '^packages/service/src/store/([^/]+)/' },
      to: { path: '^packages/service/src/store/(?!operations/|migrations/|checkpoints/|$1/)[^/]+/' },
    },
    {
      name: 'only-stores-run-operations',
      comment: 'Other folders use the port (store/store.ts) and the types of its records.',
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
      comment: 'Only http/router.ts finds the endpoint of a URL.',
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
