import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildConsole } from '../packages/service/src/development/build-console.ts'
import { listDocumentFiles } from '../packages/service/src/documents/document-files.ts'
import { checkPackage, uses } from './check-package.ts'

/**
 * Builds every package from nothing, the lower ones first, and checks each as a user who installs
 * it would. Ends with an error at the first fault.
 */
const root = join(import.meta.dirname, '..')

// The service serves the console, and its check loads it.
rmSync(join(root, 'packages/console/dist'), { recursive: true, force: true })
if (!(await buildConsole())) throw new Error('the console was not built: npx vite build packages/console')

for (const use of uses) {
  rmSync(join(root, use.folder, 'dist'), { recursive: true, force: true })
  // What runs in browsers is compiled by itself: it has a document and no Node.
  for (const project of [use.folder, join(use.folder, 'tsconfig.browser.json')].filter((path) =>
    existsSync(join(root, path)),
  )) {
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
      cwd: root,
      stdio: 'inherit',
    })
  }
  // The service shows the documents of this repository at /docs.
  if (use.folder === 'packages/service') {
    for (const path of listDocumentFiles(root))
      cpSync(join(root, path), join(root, use.folder, 'dist/documents-of-repository', path))
  }
  checkPackage(use)
}
