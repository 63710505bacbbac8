import { requireNode } from './require-node.ts'

requireNode()
// Only now: an older Node would stumble over what is in there, and say nothing that helps.
const { runCommand } = await import('./commands/run-command.ts')

/**
 * The command line of the service, with `serve` for production. What there is and what it does
 * stands in `commands/`.
 */
process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  say: (text) => console.log(text),
  note: (text) => console.error(text),
})
