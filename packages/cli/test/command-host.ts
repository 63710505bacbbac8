import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { run } from '../src/run.ts'
import { readGeneralFlags } from '../src/terminal/general-flags.ts'
import { createTerminal } from '../src/terminal/output.ts'

/** A command that a test sends to the host. */
export interface HostedCommand {
  readonly id: number
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface HostedResult {
  readonly id: number
  readonly code: number
  readonly out: string
  readonly err: string
}

const END_MS_MAX = 60_000

/**
 * A process that runs many commands, so that their modules are loaded once. It does what `main.ts`
 * does, with streams of its own for each command.
 */
process.on('message', (command: HostedCommand | 'end') => void (command === 'end' ? end() : answer(command)))

async function answer({ id, argv, env }: HostedCommand) {
  const [stdin, stdout, stderr] = [new PassThrough().end(), new PassThrough(), new PassThrough()]
  const [out, err] = [text(stdout), text(stderr)]
  const terminal = createTerminal({
    env,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    ...readGeneralFlags(argv, env),
  })
  const code = await run(argv, terminal)
  stdout.end()
  stderr.end()
  process.send?.({ id, code, out: await out, err: await err } satisfies HostedResult)
}

/** Without its channel the process ends by itself, if each command has closed what it opened. */
function end() {
  process.disconnect()
  setTimeout(() => {
    console.error(`A command left something open: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, END_MS_MAX).unref()
}
