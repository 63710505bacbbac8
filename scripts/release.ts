import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkRelease, prepareRelease } from './release-files.ts'

/**
 * `release.ts 0.2.0` prepares a release: versions, changelog, change files. `release.ts --check
 * v0.2.0` fails unless the repository is prepared for that tag.
 */
const root = join(import.meta.dirname, '..')
const [first, second] = process.argv.slice(2)

if (first === '--check' && second !== undefined) {
  const faults = checkRelease(root, second)
  for (const fault of faults) console.error(fault)
  process.exitCode = faults.length === 0 ? 0 : 1
} else if (first !== undefined && second === undefined) {
  const { files, removed } = prepareRelease(root, first, new Date().toISOString().slice(0, 10))
  for (const [path, text] of files) writeFileSync(join(root, path), text)
  for (const path of removed) rmSync(join(root, path))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  console.log(
    `Prepared ${version}. Review the changes, then: git commit -am "Release ${version}" && git tag v${version}`,
  )
} else {
  console.error('Usage: npm run release -- <version> | --check <tag>')
  process.exitCode = 2
}
