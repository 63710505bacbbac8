import { sections } from './commands/all.ts'

/** The help of the whole: examples, every command, and what holds for all of them. */
export function overview(): string {
  const width = Math.max(...sections.flatMap(([, rows]) => rows.map(([name]) => name.length)))
  return [
    'Examples',
    '  countersign dev',
    '      the service for development, with a demo site, at http://127.0.0.1:8787',
    '  countersign present /api/protected/action',
    '      a request with the demo credential',
    '  countersign revoke-user did:service:ppid_… --wait 5',
    '      take a user’s access away, and see every verifier confirm it',
    '  countersign doctor',
    '      find out what is wrong',
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
  'Results go to the standard output, everything else to the standard error; with --json both are JSON.',
  'Exit codes: 0 done, 1 failed, 2 usage error, 3 a check failed, 4 the caller was denied, 5 the service could not be',
  'reached.',
  'A service to call is found by --url or COUNTERSIGN_URL, with COUNTERSIGN_API_KEY or COUNTERSIGN_API_KEY_FILE; in a',
  'directory with data/dev.json, the development start is used. Secrets come from variables, files or the standard input.',
]
