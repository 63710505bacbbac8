import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkRelease, prepareRelease, readChanges } from '../scripts/release-files.ts'

const ROOT = join(import.meta.dirname, '..')
const FILES = [
  'package.json',
  'package-lock.json',
  ...['core', 'console', 'sdk', 'service', 'cli'].map((name) => `packages/${name}/package.json`),
  'packages/sdk/src/shared/version.ts',
]
let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'countersign-release-'))
  for (const file of FILES) cpSync(join(ROOT, file), join(root, file))
  mkdirSync(join(root, 'changes'))
  writeFileSync(join(root, 'changes/README.md'), 'how')
  writeFileSync(join(root, 'changes/fixed-two-tabs.md'), 'Two tabs both sign in.\nThe helper is new.\n')
  writeFileSync(join(root, 'changes/added-drill.md'), 'Drills.\n')
  const log = '# Changelog\n\n## [Unreleased]\n\n### Changed\n\n- One.\n\n## [0.1.0] - 2026-01-01\n\nFirst.\n'
  writeFileSync(join(root, 'CHANGELOG.md'), log)
})
afterEach(() => rmSync(root, { recursive: true }))

describe('npm run release', () => {
  test('moves all entries under the version, raises every version, and removes the change files', () => {
    const { files, removed } = prepareRelease(root, '9.0.0', '2027-02-03')
    expect(files.get('CHANGELOG.md')).toBe(
      '# Changelog\n\n## [Unreleased]\n\n## [9.0.0] - 2027-02-03\n\n### Added\n\n- Drills.\n\n### Changed\n\n- One.\n\n' +
        '### Fixed\n\n- Two tabs both sign in.\n  The helper is new.\n\n## [0.1.0] - 2026-01-01\n\nFirst.\n',
    )
    expect(removed).toEqual(['changes/added-drill.md', 'changes/fixed-two-tabs.md'])
    expect(files.get('packages/sdk/src/shared/version.ts')).toContain("SDK_VERSION = '9.0.0'")
    const cli = JSON.parse(files.get('packages/cli/package.json') as string)
    expect([cli.version, cli.dependencies['@countersign/service']]).toEqual(['9.0.0', '9.0.0'])
    expect(JSON.parse(files.get('package-lock.json') as string).packages['packages/sdk'].version).toBe(
      '9.0.0',
    )

    expect(checkRelease(root, 'v9.0.0')).toContain('CHANGELOG.md has no section for 9.0.0')
    for (const [path, text] of files) writeFileSync(join(root, path), text)
    expect(checkRelease(root, 'v9.0.0')).toEqual([
      'changes/added-drill.md is not in the changelog yet',
      'changes/fixed-two-tabs.md is not in the changelog yet',
    ])
    for (const path of removed) rmSync(join(root, path))
    expect(checkRelease(root, 'v9.0.0')).toEqual([])
    expect(checkRelease(root, 'v9.0.1')).not.toEqual([])
  })

  test('rejects a version that is not later, and a change file without a kind or an entry', () => {
    for (const version of ['0.0.1', '0.1.0', 'next', '1.0']) {
      expect(() => prepareRelease(root, version, '2027-02-03')).toThrow('is not a version after')
    }
    writeFileSync(join(root, 'changes/better.md'), 'Better.')
    expect(() => prepareRelease(root, '9.0.0', '2027-02-03')).toThrow('changes/better.md')
    rmSync(join(root, 'changes/better.md'))
    writeFileSync(join(root, 'changes/fixed-list.md'), '- One.')
    expect(() => prepareRelease(root, '9.0.0', '2027-02-03')).toThrow('without a bullet')
  })

  test('can read the change files of this repository', () => {
    expect(() => readChanges(ROOT)).not.toThrow()
  })
})
