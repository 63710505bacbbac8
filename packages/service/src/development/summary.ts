import type { Demo } from './demo.ts'
import type { DemoVerifier } from './demo-verifiers.ts'

/** What the development start prints: addresses, the demo site, and commands to paste. */
export function formatSummary(
  { dev, found, renewed }: Demo,
  dataDir: string,
  consoleLink: string | undefined,
  demoVerifiers: readonly DemoVerifier[],
): string {
  const { base_url: url, site_id, ppid } = dev
  const file = (name: string) => quote(`@${dataDir}/${name}`)
  const json = `-H 'Content-Type: application/json'`
  const user = JSON.stringify({ ppid, site_id })
  const commands: [string, string][] = [
    [
      'Accepted with the demo credential',
      `curl -s -X POST ${url}/api/protected/action -H ${file('credential.header')}`,
    ],
    [
      'List the credentials of the user',
      `curl -s '${url}/api/sites/${site_id}/credentials?ppid=${ppid}' -H ${file('site-key.header')}`,
    ],
    [
      'Revoke the user’s access',
      `curl -s -X POST ${url}/api/wallet/revoke-user -H ${file('site-key.header')} ${json} -d '${user}'`,
    ],
    ['Rejected from now on', `curl -s -X POST ${url}/api/protected/action -H ${file('credential.header')}`],
  ]
  return [
    `Countersign is running at ${url}, for development, on this machine only.`,
    '',
    found
      ? `  Found the data of an earlier start in ${dataDir}.`
      : `  Created a site, an issuer, keys and credentials in ${dataDir}.`,
    ...renewed.map((words) => `  Note: ${words}.`),
    `  site      ${site_id}`,
    `  user      ${ppid}`,
    `  for tools ${dataDir}/dev.json (keys and credentials; only you can read it)`,
    `  docs      ${url}/docs`,
    ...(consoleLink === undefined
      ? []
      : [
          `  console   ${consoleLink}`,
          '            signs you in: valid for one minute, once. Another one:',
          `            ${dataDir === 'data' ? '' : `COUNTERSIGN_DATA_DIR=${quote(dataDir)} `}npm run countersign -- console`,
        ]),
    ...demoVerifiers.map(({ verifierId, url: route }) => `  verifier  ${verifierId} ${route}`),
    ...(demoVerifiers.length > 0
      ? ['            Revoke demo-user in the console, and watch both reject it.']
      : ['  To see verifiers in the console, start with: npm start -- --with-demo-app']),
    ...(dev.admin_url === undefined
      ? []
      : [`  admin     ${dev.admin_url} (administration, revocation, health and metrics)`]),
    '',
    'To paste:',
    ...commands.flatMap(([title, command]) => ['', `  # ${title}`, `  ${command}`]),
    '',
    'Stop with Ctrl-C. The next start gives the demo user access again.',
  ].join('\n')
}

/** Quoted where a shell would split it. */
function quote(text: string): string {
  return /^[\w@./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
