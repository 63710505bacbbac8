import { sections } from './commands/all.ts'

/** The help of `countersign` itself: examples, all commands, and what applies to all of them. */
export function overview(): string {
  const width = Math.max(...sections.flatMap(([, rows]) => rows.map(([name]) => name.length)))
  return [
    'Examples',
    '  countersign dev',
    '      the service for development, with a demo site, at http://127.0.0.1:8787',
    '  countersign add',
    '      protect a route of the application in this directory',
    '  countersign issue --user-ref alice --scope orders:read > alice.json',
    '      give a user a credential',
    '  countersign revoke-user alice --wait 5',
    '      revoke the user, and wait for every verifier to confirm',
    '  countersign doctor',
    '      diagnose the service and suggest fixes',
    '',
    'Usage: countersign <command> [options]',
    '',
    ...sections.flatMap(([title, rows]) => [
      title,
      ...rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`),
      '',
    ]),
    'More: countersign <command> --help',
    '',
    ...NOTES,
  ].join('\n')
}

const NOTES = [
  'Results go to standard output, everything else to standard error.',
  'With --json both are JSON.',
  'Exit codes: 0 success, 1 failure, 2 usage error, 3 check failed,',
  '4 access denied, 5 service unreachable.',
  'Address of the service: --url or COUNTERSIGN_URL, with COUNTERSIGN_API_KEY or',
  'COUNTERSIGN_API_KEY_FILE. Default: the development service of data/dev.json,',
  'or of dev.json in COUNTERSIGN_DATA_DIR.',
  'Secrets come from variables, files or standard input, never from flags.',
]
