import { spawn } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Builds the console if it is there as source and was changed since it was built. Resolves to false
 * when that is not possible; the service then works without it.
 */
export async function buildConsole(): Promise<boolean> {
  const require = createRequire(import.meta.url)
  const folder = dirname(require.resolve('@countersign/console/package.json'))
  const built = join(folder, 'dist', 'index.html')
  // A published package has no sources.
  if (!existsSync(join(folder, 'src'))) return existsSync(built)
  const isBuilt = () => existsSync(built) && statSync(built).mtimeMs >= findNewestMs(folder)
  if (isBuilt()) return true
  let vite: string
  try {
    vite = join(dirname(require.resolve('vite/package.json', { paths: [folder] })), 'bin', 'vite.js')
  } catch {
    return existsSync(built)
  }
  // Built beside it and moved, so that no other process reads half of it.
  const fresh = join(folder, `dist-${process.pid}`)
  const options = ['build', folder, '--outDir', fresh, '--logLevel', 'error']
  // In another mode, as tests have it, the files would be larger.
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = spawn(process.execPath, [vite, ...options], { stdio: 'ignore', env })
  const code = await new Promise((resolve) => child.once('error', () => resolve(1)).once('close', resolve))
  // Another process that builds the same may have been faster: then its files stay.
  if (code === 0 && !isBuilt()) replaceFolder(fresh, join(folder, 'dist'))
  rmSync(fresh, { recursive: true, force: true })
  return code === 0 && existsSync(built)
}

/** A service that serves the folder meanwhile misses its files for a moment only. */
function replaceFolder(fresh: string, folder: string): void {
  const old = `${fresh}-old`
  try {
    if (existsSync(folder)) renameSync(folder, old)
    renameSync(fresh, folder)
  } catch {
    // What is there now was built from the same sources.
  }
  rmSync(old, { recursive: true, force: true })
}

/** Of its own sources, and of the core in the same repository, which is built into it. */
function findNewestMs(folder: string): number {
  const sources = ['src', 'languages', join('..', 'core', 'src')].flatMap((name) =>
    readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' }).map((file) => join(name, file)),
  )
  const files = [...sources, 'index.html', 'vite.config.ts', 'package.json']
  return Math.max(...files.map((name) => statSync(join(folder, name)).mtimeMs))
}
