import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { credentialChecks } from '../packages/core/src/verify/verify.ts'
import { CHECKS } from '../scripts/pictures/checks.ts'

const root = join(import.meta.dirname, '..')
const config = join(root, '.dependency-cruiser.cjs')
const { forbidden } = createRequire(import.meta.url)(config) as { forbidden: { name: string }[] }

/**
 * A repository that breaks every rule once. Each file breaks the rule that it is listed under.
 */
const BROKEN: Readonly<Record<string, readonly [path: string, text: string]>> = {
  'no-circles': ['packages/core/src/proof/one.ts', "import './two.ts'"],
  'no-orphans': ['packages/core/src/proof/orphan.ts', 'export const a = 1'],
  'no-unresolvable': ['packages/core/src/proof/lost.ts', "import './nowhere.ts'"],
  'core-verify-is-below-log': ['packages/core/src/verify/a.ts', "import type { A } from '../log/base.ts'"],
  'core-jwt-is-below-verify': ['packages/core/src/jwt/a.ts', "export { a } from '../verify/base.ts'"],
  'core-holder-is-below-jwt': ['packages/core/src/holder/a.ts', "export { a } from '../jwt/base.ts'"],
  'core-credential-is-below-holder': [
    'packages/core/src/credential/a.ts',
    "import { a } from '../holder/base.ts'",
  ],
  'core-proof-is-below-credential': [
    'packages/core/src/proof/a.ts',
    "export type { A } from '../credential/base.ts'",
  ],
  'core-encoding-is-below-proof': [
    'packages/core/src/encoding/a.ts',
    "export const a = await import('../proof/base.ts')",
  ],
  'no-import-of-contract': ['packages/core/src/log/b.ts', "import type { A } from '../contract/base.ts'"],
  'core-folders-do-not-import-index': ['packages/core/src/log/c.ts', "import '../index.ts'"],
  'core-is-pure': ['packages/core/src/log/d.ts', "import type { Stats } from 'node:fs'"],
  'core-imports-nothing-else': ['packages/core/src/log/e.ts', "import '../../../sdk/src/base.ts'"],
  'core-has-few-dependencies': ['packages/core/src/log/f.ts', "import type { JWK } from 'jose'"],
  'zod-only-in-contract': ['packages/core/src/log/g.ts', "import type { z } from 'zod'"],
  'contract-needs-zod-only': ['packages/core/src/contract/a.ts', "import 'structured-headers'"],
  'no-import-of-cli': ['packages/service/src/a.ts', "import '../../cli/src/base.ts'"],
  'cli-imports-entry-points': ['packages/cli/src/feed/a.ts', "import '../../../sdk/src/base.ts'"],
  'cli-loads-lazily': ['packages/cli/src/commands/a.ts', "import { a } from '../feed/base.ts'"],
  'service-does-not-import-sdk': ['packages/service/src/b.ts', "import '../../sdk/src/base.ts'"],
  'sdk-imports-core-only': ['packages/sdk/src/a.ts', "import '../../service/src/service.ts'"],
  'sdk-adapters-is-below-testing': ['packages/sdk/src/adapters/a.ts', "import '../testing/base.ts'"],
  'sdk-guard-is-below-adapters': ['packages/sdk/src/guard/a.ts', "import '../adapters/base.ts'"],
  'sdk-feed-is-below-guard': ['packages/sdk/src/feed/a.ts', "import '../guard/base.ts'"],
  'sdk-shared-is-below-feed': ['packages/sdk/src/shared/a.ts', "import '../feed/base.ts'"],
  'sdk-client-is-below-agent': ['packages/sdk/src/client/a.ts', "import '../agent/base.ts'"],
  'sdk-shared-is-below-client': ['packages/sdk/src/shared/b.ts', "import '../client/base.ts'"],
  'sdk-client-is-below-site': ['packages/sdk/src/client/b.ts', "import '../site/base.ts'"],
  'sdk-client-does-not-import-guard': ['packages/sdk/src/client/c.ts', "import '../guard/base.ts'"],
  'sdk-runs-everywhere': ['packages/sdk/src/b.ts', "import '../../core/src/contract/base.ts'"],
  'sdk-has-no-builtins': ['packages/sdk/src/c.ts', "import 'node:fs'"],
  'console-uses-core-only': ['packages/console/src/a.ts', "import '../../sdk/src/client/base.ts'"],
  'console-uses-types-of-the-contract': [
    'packages/console/src/b.ts',
    "import '../../core/src/contract/base.ts'",
  ],
  'service-service-is-below-operations': ['packages/service/src/service.ts', "import './operations/base.ts'"],
  'service-app-is-below-service': ['packages/service/src/app.ts', "import './service.ts'"],
  'service-routes-is-below-app': ['packages/service/src/routes/a.ts', "import '../app.ts'"],
  'service-actions-is-below-routes': ['packages/service/src/actions/a.ts', "import '../routes/base.ts'"],
  'service-feed-is-below-actions': ['packages/service/src/feed/a.ts', "import '../actions/base.ts'"],
  'service-access-is-below-feed': ['packages/service/src/access/a.ts', "import '../feed/base.ts'"],
  'service-log-is-below-access': ['packages/service/src/log/a.ts', "import '../access/base.ts'"],
  'service-time-is-below-log': ['packages/service/src/time/a.ts', "import '../log/base.ts'"],
  'service-store-is-below-time': ['packages/service/src/store/a.ts', "import '../time/base.ts'"],
  'service-sealing-is-below-store': ['packages/service/src/sealing/a.ts', "import '../store/a.ts'"],
  'service-store-is-below-keys': ['packages/service/src/store/b.ts', "import '../keys/base.ts'"],
  'browser-scripts-import-each-other-only': [
    'packages/service/src/browser/a.ts',
    "import '../actions/base.ts'",
  ],
  'only-open-knows-stores': ['packages/service/src/routes/b.ts', "import '../store/sqlite/base.ts'"],
  'stores-do-not-know-each-other': ['packages/service/src/store/postgres/a.ts', "import '../sqlite/base.ts'"],
  'only-stores-run-operations': ['packages/service/src/log/b.ts', "import '../store/operations/base.ts'"],
  'http-and-pages-do-not-import-routes': [
    'packages/service/src/pages/a.ts',
    "import type { A } from '../routes/base.ts'",
  ],
  'one-router': ['packages/service/src/actions/b.ts', "import 'find-my-way'"],
  'sources-do-not-import-tests': ['packages/core/src/log/h.ts', "import '../../test/base.ts'"],
}

const FOLDERS = [
  ...['log', 'verify', 'jwt', 'holder', 'credential', 'proof', 'encoding', 'contract'].map(
    (folder) => `packages/core/src/${folder}`,
  ),
  ...[
    'browser',
    'operations',
    'routes',
    'actions',
    'feed',
    'access',
    'log',
    'time',
    'store/sqlite',
    'store/operations',
    'keys',
  ].map((folder) => `packages/service/src/${folder}`),
  ...['testing', 'adapters', 'guard', 'feed', 'agent', 'site', 'client', 'shared'].map(
    (folder) => `packages/sdk/src/${folder}`,
  ),
  ...[
    'packages/sdk/src',
    'packages/cli/src',
    'packages/cli/src/feed',
    'packages/cli/src/commands',
    'packages/console/src',
    'packages/core/test',
  ],
]

interface Violation {
  readonly from: string
  readonly rule: { readonly name: string }
}

let house: string
let violations: readonly Violation[]

beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), 'countersign-arrows-'))
  const put = (path: string, text: string) => {
    mkdirSync(join(house, dirname(path)), { recursive: true })
    writeFileSync(join(house, path), `${text}\n`)
  }
  for (const folder of FOLDERS) {
    put(`${folder}/base.ts`, 'export type A = 1\nexport const a: A = 1')
    put(`${folder}/good.ts`, "import './base.ts'")
  }
  put('packages/core/src/index.ts', "import './log/base.ts'")
  put(
    'packages/core/src/log/good.ts',
    "import type { A } from '../verify/base.ts'\nimport '../encoding/base.ts'",
  )
  put('packages/core/src/contract/good.ts', "import '../log/base.ts'\nimport 'zod'")
  put('packages/core/src/proof/two.ts', "import './one.ts'")
  put('packages/service/src/store/open.ts', "import './sqlite/base.ts'")
  put('packages/service/src/store/sqlite/good.ts', "import '../operations/base.ts'")
  for (const [path, text] of Object.values(BROKEN)) put(path, text)
  for (const name of ['find-my-way', 'jose', 'structured-headers', 'zod']) {
    put(`node_modules/${name}/package.json`, JSON.stringify({ name, main: 'index.js' }))
    put(`node_modules/${name}/index.js`, '')
  }

  const cruiser = join(root, 'node_modules/.bin/depcruise')
  const report = execFileSync(
    process.execPath,
    [cruiser, '--config', config, '--output-type', 'json', 'packages'],
    {
      cwd: house,
      encoding: 'utf8',
    },
  )
  violations = (JSON.parse(report) as { summary: { violations: Violation[] } }).summary.violations
})
afterAll(() => rmSync(house, { recursive: true, force: true }))

test('every rule is broken here once', () => {
  expect(Object.keys(BROKEN).toSorted()).toEqual(forbidden.map(({ name }) => name).toSorted())
})

test.each(Object.entries(BROKEN))('%s fires', (name, [path]) => {
  expect(violations.filter((violation) => violation.rule.name === name).map(({ from }) => from)).toContain(
    path,
  )
})

test('good files break no rule', () => {
  expect(violations.filter(({ from }) => /(?:good|base|main|open)\.ts$/.test(from))).toEqual([])
})

test('the picture of ARCHITECTURE.md shows the checks of a credential in their order', () => {
  expect(CHECKS.map(({ name }) => name)).toEqual(credentialChecks.map(([name]) => name))
})

test('ARCHITECTURE.md lists the steps of a request in their order', () => {
  const source = readFileSync(join(root, 'packages/service/src/http/pipeline.ts'), 'utf8')
  const [table = ''] = /^const steps[\s\S]*?^\]/m.exec(source) ?? []
  const names = [...table.matchAll(/^ {2}\[\s*'([^']+)',/gm)].map(([, name]) => name)
  expect(names).toContain('schema')
  expect(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')).toContain(`checks it: ${names.join(' → ')}.`)
})
