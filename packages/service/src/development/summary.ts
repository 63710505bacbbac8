import type { Demo } from './demo.ts'
import type { DemoVerifier } from './demo-verifiers.ts'

/** What the development start prints: addresses, the demo site, and commands to paste. */
export function formatSummary(
  { dev, found, renewed }: Demo,
  dataDir: string,
  consoleLink: string | undefined,
  demoVerifiers: readonly DemoVerifier[],
): string {
  const { base_url: url, site_id, ppid, user_ref } = dev
  const file = (name: string) => quote(`@${dataDir}/${name}`)
  const json = `-H 'Content-Type: application/json'`
  const user = JSON.stringify({ user_ref, site_id })
  const commands: [string, string][] = [
    [
      'Accepted with the demo credential',
      `curl -s -X POST ${url}/api/protected/action -H ${file('credential.header')}`,
    ],
    [
      'Revoke the user’s access',
      `curl -s -X POST ${url}/api/wallet/revoke-user -H ${file('site-key.header')} ${json} -d '${user}'`,
    ],
    ['Rejected from now on', `curl -s -X POST ${url}/api/protected/action -H ${file('credential.header')}`],
  ]
  const places: [string, string][] = [
    ...(consoleLink === undefined
      ? []
      : ([
          ['console', consoleLink],
          ['', 'signs you in once, within a minute; another link:'],
          [
            '',
            `${dataDir === 'data' ? '' : `COUNTERSIGN_DATA_DIR=${quote(dataDir)} `}npm run -s countersign -- console`,
          ],
        ] satisfies [string, string][])),
    ['docs', `${url}/docs`],
    ...(dev.admin_url === undefined
      ? []
      : ([['admin', `${dev.admin_url} (administration, revocation, health and metrics)`]] satisfies [
          string,
          string,
        ][])),
    ...demoVerifiers.map(({ verifierId, url: route }): [string, string] => [
      'verifier',
      `${verifierId} ${route}`,
    ]),
    ['site', site_id],
    ['user', `${user_ref}, ${ppid}`],
    ['files', `${dataDir}/dev.json (keys and credentials for tools; only you can read it)`],
  ]
  return [
    `Countersign is running at ${url}, for development, on this machine only.`,
    found
      ? `Found the data of an earlier start in ${dataDir}.`
      : `Created a site, an issuer, keys and credentials in ${dataDir}.`,
    ...renewed.map((words) => `Note: ${words}.`),
    '',
    ...places.map(([name, value]) => `  ${name.padEnd(8)}  ${value}`),
    '',
    demoVerifiers.length > 0
      ? 'Revoke demo-user in the console, and watch both verifiers reject it.'
      : 'To see verifiers in the console, start with: npm start -- --with-demo-app',
    '',
    'Paste into a second terminal:',
    ...commands.flatMap(([title, command]) => ['', `  # ${title}`, `  ${command}`]),
    '',
    'Stop with Ctrl-C. The next start gives the demo user access again.',
  ].join('\n')
}

/** Quoted where a shell would split it. */
function quote(text: string): string {
  return /^[\w@./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
