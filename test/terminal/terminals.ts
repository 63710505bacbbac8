import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'

/**
 * A shell at a terminal, as a person has it: what is typed is echoed, and programs see that they
 * are at one.
 */
export interface Terminal {
  /** Types a line and Enter; `^C` is the key. */
  type(line: string): void
  /** All that it has shown so far. */
  text(): string
  close(): void
}

interface Surroundings {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

export type OpenTerminal = (where: Surroundings) => Terminal

const isInstalled = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

/** The best that this machine has: tmux, or script; undefined when there is neither. */
export function findTerminal(): { readonly name: string; readonly open: OpenTerminal } | undefined {
  if (isInstalled('tmux')) return { name: 'tmux', open: openTmux }
  // The one of util-linux; others have other flags.
  if (spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0)
    return { name: 'script', open: openScript }
  return undefined
}

/** Some shells that start another take its prompt away. */
const toShell = (env: Surroundings['env']) => `PS1='${env.PS1}' exec sh`

let count = 0

/** Wide enough that a line of the README is one line here. */
const COLUMNS = 240

const openTmux: OpenTerminal = ({ cwd, env }) => {
  const socket = join(env.HOME ?? cwd, `tmux-${count++}`)
  const tmux = (...argv: string[]) =>
    execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...argv], { env, encoding: 'utf8' })
  tmux('new-session', '-d', '-x', String(COLUMNS), '-y', '60', '-c', cwd, toShell(env))
  return {
    type(line) {
      if (line === '^C') return void tmux('send-keys', 'C-c')
      tmux('send-keys', '-l', '--', line)
      tmux('send-keys', 'Enter')
    },
    text: () => tmux('capture-pane', '-p', '-J', '-S', '-'),
    close: () => void spawnSync('tmux', ['-S', socket, 'kill-server'], { env }),
  }
}

const openScript: OpenTerminal = ({ cwd, env }) => {
  const child = spawn('script', ['-qfec', toShell(env), '/dev/null'], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let text = ''
  child.stdout.on('data', (bytes: Buffer) => (text += bytes))
  return {
    type: (line) => void child.stdin.write(line === '^C' ? '\x03' : `${line}\n`),
    text: () => text.replaceAll('\r', '').replaceAll(/\x1b\[[\d;?]*[A-Za-z]/g, ''),
    close: () => void child.kill('SIGHUP'),
  }
}
