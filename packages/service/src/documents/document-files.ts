import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The folders of the repository whose documents are served, and the documents at its root. */
const FOLDERS = ['docs', 'examples', 'bench']
const AT_ROOT = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const KINDS = /\.(?:md|svg|png)$/
const ELSEWHERE = /(?:^|[\\/])node_modules[\\/]/

/**
 * The paths of all documents below a folder with the layout of the repository, with slashes and
 * sorted. The build copies these files, so an installed package has the same list.
 */
export function listDocumentFiles(root: string): readonly string[] {
  const below = FOLDERS.flatMap((folder) => listFiles(join(root, folder)).map((path) => relative(root, path)))
  const found = [
    ...listFiles(root, false)
      .map((path) => relative(root, path))
      .filter((name) => AT_ROOT.includes(name)),
    ...below,
  ]
  return found
    .filter((path) => KINDS.test(path) && !ELSEWHERE.test(path))
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
}

function listFiles(folder: string, recursive = true): string[] {
  try {
    const entries = readdirSync(folder, { recursive, withFileTypes: true })
    // A symbolic link could lead anywhere.
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
