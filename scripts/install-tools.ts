import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs the tools of `npm run check` and `npm run mutation` in tools/, unless exactly these
 * versions are there. `npm ci` leaves them out: neither the service nor the tests need them.
 */
const tools = join(import.meta.dirname, '../tools')
const mark = join(tools, 'node_modules/.installed')
const wanted = readFileSync(join(tools, 'package-lock.json'), 'utf8')

if (readIfThere(mark) !== wanted) {
  const { status } = spawnSync('npm', ['ci'], { cwd: tools, stdio: ['ignore', 'inherit', 'inherit'] })
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
