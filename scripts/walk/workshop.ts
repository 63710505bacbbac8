import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ordinaryEnvironment, signalGroup } from '../dev-process.ts'

/** Runs programs on chosen versions of Node, in a directory that disappears with it. */
export interface Workshop {
  readonly directory: string
  /** Installs this version of Node and returns its folder, for the `bin` of the others. */
  installNode(version: string): string
  /** Runs a command to its end and returns what it printed. Throws when it fails. */
  run(cwd: string, bin: string, line: string): string
  /** The same, and returns the exit code instead. */
  attempt(cwd: string, bin: string, line: string): Ended
  /** Starts a program and resolves to what it printed once it has printed these words. */
  start(cwd: string, bin: string, line: string, words: string): Promise<Started>
  close(): void
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Started {
  readonly text: string
  stop(): void
}

export function openWorkshop(): Workshop {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-walk-'))
  const running = new Set<ChildProcess>()
  const outerPath = (process.env.PATH ?? '').split(delimiter).filter((one) => !one.includes('node_modules'))
  const environment = (bin: string): NodeJS.ProcessEnv => ({
    ...ordinaryEnvironment(),
    PATH: [bin, ...outerPath].join(delimiter),
    CI: 'true',
    NEXT_TELEMETRY_DISABLED: '1',
  })
  const attempt = (cwd: string, bin: string, line: string): Ended => {
    console.log(`$ ${line}`)
    const [program = '', ...argv] = line.split(' ')
    const { status, stdout, stderr } = spawnSync(program, argv, {
      cwd,
      env: environment(bin),
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    })
    return { code: status, stdout, stderr }
  }
  return {
    directory,
    attempt,
    installNode(version) {
      const folder = join(directory, `node-${version}`)
      mkdirSync(folder)
      writeFileSync(
        join(folder, 'package.json'),
        JSON.stringify({ private: true, allowScripts: { node: true }, dependencies: { node: version } }),
      )
      execFileSync('npm', ['install'], { cwd: folder, stdio: 'ignore', env: environment('') })
      const bin = join(folder, 'node_modules/node/bin')
      const found = execFileSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).trim()
      if (found !== `v${version}`) throw new Error(`wanted Node ${version}, got ${found}`)
      return bin
    },
    run(cwd, bin, line) {
      const { code, stdout, stderr } = attempt(cwd, bin, line)
      if (code !== 0) throw new Error(`${line} ended with ${code}:\n${stdout}${stderr}`)
      return `${stdout}${stderr}`
    },
    start(cwd, bin, line, words) {
      console.log(`$ ${line}`)
      const [program = '', ...argv] = line.split(' ')
      const child = spawn(program, argv, {
        cwd,
        env: environment(bin),
        stdio: ['ignore', 'pipe', 'pipe'],
        // As a group: what npx starts would stay otherwise.
        detached: true,
      })
      running.add(child)
      let text = ''
      return new Promise((resolve, reject) => {
        const read = (piece: Buffer) => {
          text += piece
          if (text.includes(words)) resolve({ text, stop: () => signalGroup(child, 'SIGKILL') })
        }
        child.stdout.on('data', read)
        child.stderr.on('data', read)
        child.once('exit', (code) => {
          running.delete(child)
          reject(new Error(`${line} ended with ${code}: ${text}`))
        })
      })
    },
    close() {
      for (const child of running) signalGroup(child, 'SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
