import { readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { UsageError } from '../command.ts'
import { VERSION } from '../version.ts'
import type { PackageFile } from './project.ts'

const SDK = '@countersign/sdk'

/**
 * What package.json must list, by name. `tarballs` is a directory with the files that `npm pack`
 * makes; then the SDK and the core come from there.
 */
export function chooseDependencies(
  directory: string,
  { dependencies }: PackageFile,
  tarballs: string | undefined,
): Readonly<Record<string, string>> {
  if (tarballs === undefined) return Object.hasOwn(dependencies ?? {}, SDK) ? {} : { [SDK]: VERSION }
  const found = (name: string) => {
    const file = `countersign-${name}-${VERSION}.tgz`
    let files: readonly string[] = []
    try {
      files = readdirSync(tarballs)
    } catch {
      // Reported below.
    }
    if (files.includes(file)) return `file:${relative(directory, join(tarballs, file)).replaceAll(sep, '/')}`
    throw new UsageError(
      `There is no ${file} in ${tarballs}. Make it in a clone: npm run build && npm pack -w packages/${name}`,
    )
  }
  return { '@countersign/core': found('core'), [SDK]: found('sdk') }
}

/** The text of package.json with these dependencies, in the order of their names. */
export function packageText(before: string, added: Readonly<Record<string, string>>): string {
  const [, indent = '  '] = /^([ \t]+)"/m.exec(before) ?? []
  const file = JSON.parse(before)
  const all = Object.entries({ ...file.dependencies, ...added }).sort(([a], [b]) => (a < b ? -1 : 1))
  const end = before.endsWith('\n') ? '\n' : ''
  return `${JSON.stringify({ ...file, dependencies: Object.fromEntries(all) }, null, indent)}${end}`
}
