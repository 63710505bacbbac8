import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * What Node runs for a script of a test: Vitest names bundles of those in
 * `scripts/bundle-sources.ts`, which start faster.
 */
export function findScript(source: URL): URL {
  const { TEST_SCRIPTS } = process.env
  if (TEST_SCRIPTS === undefined) return source
  return pathToFileURL(join(TEST_SCRIPTS, `${basename(source.pathname, '.ts')}.mjs`))
}
