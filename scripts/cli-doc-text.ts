import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { sections } from '../packages/cli/src/commands/all.ts'
import { run } from '../packages/cli/src/run.ts'
import { createTerminal } from '../packages/cli/src/terminal/output.ts'

const INTRO = `# The command \`countersign\`

Made from the help of the command by \`npm run cli-docs\`; a test keeps it so. In a clone of the repository, \`npm run -s countersign -- <command>\` runs it; \`npm start\` is
\`countersign dev\`.

## Where it calls

| what | flag | variable | otherwise |
|---|---|---|---|
| the service | \`--url\` | \`COUNTERSIGN_URL\` | that of \`./data/dev.json\` |
| the site | \`--site\` | \`COUNTERSIGN_SITE\` | that of \`./data/dev.json\` |
| the API key | \`--api-key-file\` | \`COUNTERSIGN_API_KEY\`, \`COUNTERSIGN_API_KEY_FILE\` | that of \`./data/dev.json\` |

\`./data/dev.json\` is what the development start writes down. It counts only when its service is on this machine and is the one that is called, and the command says on
the standard error that it uses it. Secrets (keys, tokens, credentials) come from variables, files or the standard input (\`-\`), never from the command line, which every user
of a machine can read. A file with a private key or an API key that others can read is refused.

## What it prints and how it ends

Results go to the standard output, everything else to the standard error. \`--json\` prints results as JSON, with the names of the HTTP interface, and what went wrong
as one line of JSON on the standard error: \`{ "error": { "code", "message", "request_id" }, "exit_code" }\`. Colours and lines that are drawn over come only on a
terminal; \`NO_COLOR\` and \`--no-color\` switch colours off.

| code | when |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | usage error; also for a command that takes access away, when there is no terminal to ask and \`--yes\` was not given |
| 3 | a check failed: rejected, not active, behind, something is wrong |
| 4 | the caller was denied: no API key, an invalid one, or one without the permission |
| 5 | the service could not be reached |
`

/** The text of docs/cli.md: an introduction, then the help of every command as it is printed. */
export async function cliDocText(): Promise<string> {
  const parts = [INTRO]
  for (const [title, rows] of sections) {
    parts.push(`## ${title}\n`)
    for (const [name, , load] of rows) {
      const command = await load?.()
      const verbs = command !== undefined && 'verbs' in command ? Object.keys(command.verbs) : []
      const helps = [await helpOf(name), ...(await Promise.all(verbs.map((verb) => helpOf(name, verb))))]
      parts.push(`### ${name}\n\n${helps.map((help) => `\`\`\`text\n${help}\`\`\`\n`).join('\n')}`)
    }
  }
  return parts.join('\n')
}

async function helpOf(...words: readonly string[]): Promise<string> {
  const stdout = new PassThrough()
  const streams = { stdin: process.stdin, stdout: stdout as never, stderr: new PassThrough() as never }
  const code = await run(
    [...words, '--help'],
    createTerminal({ env: {}, ...streams, isJson: false, hasColor: false, hasInput: false }),
  )
  stdout.end()
  if (code !== 0) throw new Error(`countersign ${words.join(' ')} has no help`)
  return text(stdout)
}
