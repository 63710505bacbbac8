import { runCommand } from './commands/run-command.ts'

/** The development start without a word for it, for those who have the service alone. */
process.exitCode = await runCommand(['dev', ...process.argv.slice(2)], {
  env: process.env,
  say: (text) => console.log(text),
  note: (text) => console.error(text),
})
