import type { Demo } from './demo.ts'
import type { DemoVerifier } from './demo-verifiers.ts'

/** How a developer starts things: from a clone and from installed packages it differs. */
export interface StartCommands {
  /** Such as `npm start --`; flags may follow. */
  readonly start: string
  /** Such as `npx @countersign/cli`; a command follows. */
  readonly countersign: string
}

export interface SummaryFacts {
  readonly demo: Demo
  readonly dataDir: string
  readonly consoleLink: string | undefined
  readonly demoVerifiers: readonly DemoVerifier[]
  readonly commands: StartCommands
}

/**
 * What the development start prints: addresses, the demo site, and commands to paste. With the
 * default port and directory no line has more than 80 columns.
 */
export function formatSummary({ demo, dataDir, consoleLink, demoVerifiers, commands }: SummaryFacts): string {
  const { dev, found, renewed, visitor } = demo
  const { base_url: url, site_id, user_ref } = dev
  const file = (name: string) => quote(`@${dataDir}/${name}`)
  const request = [`curl -s -X POST ${url}/api/protected/action`, `-H ${file('visitor.header')}`]
  const steps: [string, string[]][] = [
    [`Accepted, with the credential of the user ${visitor}`, request],
    [
      'Revoke the user’s access',
      [
        `curl -s -X POST ${url}/api/wallet/revoke-user`,
        `-H ${file('site-key.header')} -H 'Content-Type: application/json'`,
        `-d '${JSON.stringify({ user_ref: visitor, site_id })}'`,
      ],
    ],
    ['Rejected from now on', request],
  ]
  const places: [string, string][] = [
    ['docs', `${url}/docs`],
    ...(dev.admin_url === undefined
      ? []
      : ([['admin', `${dev.admin_url} (administration, health and metrics)`]] satisfies [string, string][])),
    ...demoVerifiers.map(({ verifierId, url: route }): [string, string] => [
      'verifier',
      `${verifierId} ${route}`,
    ]),
    ['site', site_id],
    ['user', user_ref],
    ['files', `${dataDir}/dev.json (keys and credentials for tools; only you can read it)`],
  ]
  return [
    `Countersign is running at ${url}`,
    'For development, on this machine only.',
    found
      ? `Found the data of an earlier start in ${dataDir}.`
      : `Created a site, an issuer, keys and credentials in ${dataDir}.`,
    ...renewed.map((words) => `Note: ${words}.`),
    '',
    ...(consoleLink === undefined
      ? []
      : [
          'The console. The link signs you in once, within a minute:',
          `  ${consoleLink}`,
          `Another link: ${formatCommandLine(commands, dataDir)} console`,
          '',
        ]),
    ...places.map(([name, value]) => `  ${name.padEnd(8)}  ${value}`),
    '',
    ...(demoVerifiers.length > 0
      ? [`Revoke ${user_ref} in the console, and watch both verifiers reject it.`]
      : [`To see verifiers in the console: ${commands.start} --with-demo-app`]),
    '',
    'Paste into a second terminal, in the same folder:',
    ...steps.flatMap(([title, lines]) => ['', `  # ${title}`, `  ${lines.join(' \\\n    ')}`]),
    '',
    'Stop with Ctrl-C. The next start gives both users access again.',
  ].join('\n')
}

/** What runs a command for the service of this directory: the command follows. */
export function formatCommandLine({ countersign }: StartCommands, dataDir: string): string {
  return dataDir === 'data' ? countersign : `COUNTERSIGN_DATA_DIR=${quote(dataDir)} ${countersign}`
}

/** Quoted where a shell would split it. */
function quote(text: string): string {
  return /^[\w@./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
