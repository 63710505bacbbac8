import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Lockfile, lockfileFaults, type RootPackage } from '../scripts/lockfile.ts'

const root = join(import.meta.dirname, '..')
const integrity = `sha512-${'A'.repeat(86)}==`

const goodRoot = { allowScripts: { fast: true, slow: false }, devDependencies: { fast: '1.2.3' } }
const good: Lockfile = {
  lockfileVersion: 3,
  packages: {
    '': {},
    'packages/own': {},
    'node_modules/own': { resolved: 'packages/own', link: true },
    'node_modules/fast': {
      version: '1.2.3',
      integrity,
      hasInstallScript: true,
      optionalDependencies: { 'fast-arm64': '1.2.3' },
    },
    'node_modules/fast-arm64': { version: '1.2.3', integrity },
    'node_modules/@scope/slow': {
      version: '2.0.0',
      integrity,
      resolved: 'https://registry.npmjs.org/@scope/slow/-/slow-2.0.0.tgz',
    },
    'node_modules/@scope/slow/node_modules/slow': { version: '1.0.0', integrity, hasInstallScript: true },
  },
}

function spoilt(path: string, change: object): Lockfile {
  return { ...good, packages: { ...good.packages, [path]: { ...good.packages[path], ...change } } }
}

function without(path: string): Lockfile {
  return {
    ...good,
    packages: Object.fromEntries(Object.entries(good.packages).filter(([name]) => name !== path)),
  }
}

describe('A241: the lockfile', () => {
  test('of this repository has no fault', () => {
    const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
    expect(
      lockfileFaults(read('package-lock.json') as Lockfile, read('package.json') as RootPackage),
    ).toEqual([])
  })

  test('that is good has no fault', () => {
    expect(lockfileFaults(good, goodRoot)).toEqual([])
  })

  test.each([
    [
      'an entry without integrity',
      spoilt('node_modules/fast', { integrity: undefined }),
      goodRoot,
      'node_modules/fast has no sha512',
    ],
    [
      'a weak hash',
      spoilt('node_modules/fast', { integrity: 'sha1-AAAA' }),
      goodRoot,
      'node_modules/fast has no sha512',
    ],
    [
      'a nested entry without integrity',
      spoilt('node_modules/@scope/slow/node_modules/slow', { integrity: '' }),
      goodRoot,
      'has no sha512',
    ],
    [
      'another registry',
      spoilt('node_modules/fast', { resolved: 'https://registry.example/fast.tgz' }),
      goodRoot,
      'not from the public registry',
    ],
    [
      'a git address',
      spoilt('node_modules/fast', { resolved: 'git+ssh://git@example/fast.git#0' }),
      goodRoot,
      'not from the public registry',
    ],
    [
      'a look-alike registry',
      spoilt('node_modules/fast', { resolved: 'https://registry.npmjs.org.example/x' }),
      goodRoot,
      'not from the public registry',
    ],
    [
      'a link out of the workspace',
      spoilt('node_modules/own', { resolved: '../elsewhere' }),
      goodRoot,
      'outside of the workspace',
    ],
    [
      'an install script that is not named',
      good,
      { ...goodRoot, allowScripts: { fast: true } },
      'slow has an install script',
    ],
    [
      'a new install script',
      spoilt('node_modules/fast-arm64', { hasInstallScript: true }),
      goodRoot,
      'node_modules/fast-arm64 has an install script',
    ],
    [
      "a platform's binary that is missing",
      without('node_modules/fast-arm64'),
      goodRoot,
      'fast-arm64 that is not locked',
    ],
    [
      'a range in place of a version',
      good,
      { ...goodRoot, devDependencies: { fast: '^1.2.3' } },
      'not in one exact version',
    ],
    ['an old format', { ...good, lockfileVersion: 1 }, goodRoot, 'version 1'],
  ])('with %s is refused', (_, lockfile, rootPackage, fault) => {
    const faults = lockfileFaults(lockfile as Lockfile, rootPackage as RootPackage)
    expect(faults).toEqual([expect.stringContaining(fault)])
  })
})
