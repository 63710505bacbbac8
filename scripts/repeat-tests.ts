import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))

/**
 * Runs test files of the suite so many times, one file after the other, and prints what vitest
 * prints. False when any run failed.
 */
export async function repeatTests(files: readonly string[], times: number): Promise<boolean> {
  let isGood = true
  for (let run = 1; run <= times; run++) {
    console.log(`Fault tests, run ${run} of ${times}`)
    const child = spawn(process.execPath, [VITEST, 'run', '--maxWorkers=1', ...files], {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const code = await new Promise((resolve) => child.once('close', resolve))
    if (code !== 0) isGood = false
  }
  return isGood
}
