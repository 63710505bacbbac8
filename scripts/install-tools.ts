import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs what the named folders lock, unless exactly these versions are there: the tools of
 * `npm run check` and `npm run mutation` in tools/, the peers of `npm run bench` in bench/.
 * `npm ci` leaves them out: neither the service nor the tests need them.
 */
for (const name of process.argv.slice(2)) {
  const folder = join(import.meta.dirname, '..', name)
  const mark = join(folder, 'node_modules/.installed')
  const wanted = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  if (readIfThere(mark) === wanted) continue
  const { status } = spawnSync('npm', ['ci'], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(1)
  writeFileSync(mark, wanted)
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
