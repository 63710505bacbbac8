export interface PublishedFile {
  /** Relative to the package. */
  readonly path: string
  readonly text: string
}

/** The whole of what a package of ours publishes. */
const EXPECTED = [
  /^package\.json$/,
  /^README\.md$/,
  /^LICENSE$/,
  /^dist\/.+\.js$/,
  /^dist\/.+\.d\.ts$/,
  /^dist\/.+\.map$/,
  /^src\/.+\.ts$/,
  /^dist\/documents-of-repository\/.+\.(?:md|svg|png)$/,
]
const REQUIRED = ['package.json', 'README.md', 'LICENSE']

/** Private keys in PEM and JWK, access tokens and API keys of ours. */
const SECRETS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /"d"\s*:\s*"[A-Za-z0-9_-]{40,}"/,
  /\bsvc_(?:at|sk)_[0-9A-Za-z]{40,}/,
]

interface SourceMap {
  readonly sources: readonly string[]
  readonly sourcesContent?: unknown
  readonly sourceRoot?: string
}

/**
 * Everything wrong with the files that a package would publish: a file that is unexpected or
 * missing, a source map that carries text of its own or points outside of the package, something
 * that looks like a secret, the name of the folder in which it was built.
 */
export function publishedFaults(
  files: readonly PublishedFile[],
  builtIn: string,
  entry = 'dist/index.js',
): readonly string[] {
  const paths = new Set(files.map(({ path }) => path))
  const faults = REQUIRED.filter((path) => !paths.has(path)).map((path) => `${path} is missing`)
  if (!paths.has(entry)) faults.push('the package has not been built')
  for (const { path, text } of files) {
    if (!EXPECTED.some((pattern) => pattern.test(path))) faults.push(`${path} is not expected in a package`)
    if (SECRETS.some((pattern) => pattern.test(text))) faults.push(`${path} holds what looks like a secret`)
    if (text.includes(builtIn)) faults.push(`${path} names the folder in which it was built`)
    if (path.endsWith('.map')) faults.push(...mapFaults(path, JSON.parse(text) as SourceMap, paths))
  }
  return faults
}

function mapFaults(
  path: string,
  { sources, sourcesContent, sourceRoot }: SourceMap,
  paths: ReadonlySet<string>,
): string[] {
  const faults: string[] = []
  if (sourcesContent !== undefined) faults.push(`${path} carries the text of its sources`)
  for (const source of sources) {
    const { pathname } = new URL((sourceRoot ?? '') + source, `file:///${path}`)
    if (!paths.has(pathname.slice(1))) faults.push(`${path} points to ${source}, which is not in the package`)
  }
  return faults
}
