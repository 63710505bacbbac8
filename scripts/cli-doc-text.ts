import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { sections } from '../packages/cli/src/commands/all.ts'
import { run } from '../packages/cli/src/run.ts'
import { createTerminal } from '../packages/cli/src/terminal/output.ts'

const INTRO = `# The command \`countersign\`

\`npm run cli-docs\` generates this page from the help of the command.
In a clone of the repository, run \`npm run -s countersign -- <command>\`; \`npm start\` is \`countersign dev\`.

## Which service it calls

| what | flag | variable | otherwise |
|---|---|---|---|
| the service | \`--url\` | \`COUNTERSIGN_URL\` | that of \`./data/dev.json\` |
| the site | \`--site\` | \`COUNTERSIGN_SITE\` | that of \`./data/dev.json\` |
| the API key | \`--api-key-file\` | \`COUNTERSIGN_API_KEY\`, \`COUNTERSIGN_API_KEY_FILE\` | that of \`./data/dev.json\` |

The development service writes \`./data/dev.json\`.
The command uses it only when that service is on this machine and is the one that is called, and says so on standard error.
Secrets (keys, tokens, credentials) come from variables, files or standard input (\`-\`), never from the command line, which every user of a machine can read.
A file with a private key or an API key that others can read is rejected.

## Output and exit codes

Results go to standard output, everything else to standard error.
\`--json\` prints results as JSON, with the names of the HTTP interface.
Errors are then one line of JSON on standard error: \`{ "error": { "code", "message", "request_id" }, "exit_code" }\`.
Colours and progress appear only on a terminal; \`NO_COLOR\` and \`--no-color\` switch colours off.

\`--out\` names a new file for a secret, which only its owner can read.
The command creates the file first: with a name that cannot be used it creates nothing else, and its exit code is 2.

| code | when |
|---|---|
| 0 | success |
| 1 | failure |
| 2 | usage error, nothing was changed; also for a command that needs a confirmation, without a terminal to ask and without \`--yes\` |
| 3 | check failed: rejected, not active, behind, or a problem found |
| 4 | access denied: no API key, an invalid one, or one without the permission |
| 5 | service unreachable |
`

/** The text of docs/cli.md: an introduction, then the help of every command as it is printed. */
export async function cliDocText(): Promise<string> {
  const parts = [INTRO]
  for (const [title, rows] of sections) {
    parts.push(`## ${title}\n`)
    for (const [name, , load] of rows) {
      const command = await load?.()
      const verbs = command !== undefined && 'verbs' in command ? Object.keys(command.verbs) : []
      const helps = [await loadHelp(name), ...(await Promise.all(verbs.map((verb) => loadHelp(name, verb))))]
      parts.push(`### ${name}\n\n${helps.map((help) => `\`\`\`text\n${help}\`\`\`\n`).join('\n')}`)
    }
  }
  return parts.join('\n')
}

async function loadHelp(...words: readonly string[]): Promise<string> {
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
