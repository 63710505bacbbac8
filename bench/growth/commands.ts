import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What a piece of work took, by the clock and of the processor. */
export interface Cost {
  readonly seconds: number
  /** With all threads; less at the mercy of what else the machine does. */
  readonly cpuSeconds: number
}

const CLI = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
/** The last line of `times`: user and system time of the processes that the shell waited for. */
const TIMES = /(\d+)m([\d.]+)s\s+(\d+)m([\d.]+)s\s*$/

/** Runs a command of the command line in a process of its own. Rejects when it fails. */
export async function runCommand(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Cost> {
  const startedMs = performance.now()
  const node = [process.execPath, '--conditions=countersign-source', CLI, ...words]
  const shell = spawn('sh', ['-c', '"$@"; code=$?; times >&2; exit $code', 'sh', ...node], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  })
  let said = ''
  shell.stderr.on('data', (piece: Buffer) => {
    said += piece.toString()
  })
  const code = await new Promise((resolve, reject) => shell.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`countersign ${words.join(' ')} ended with ${code}: ${said}`)
  const [, ...digits] = TIMES.exec(said) ?? []
  const [userMinutes = 0, user = 0, systemMinutes = 0, system = 0] = digits.map(Number)
  return {
    seconds: (performance.now() - startedMs) / 1000,
    cpuSeconds: (userMinutes + systemMinutes) * 60 + user + system,
  }
}
