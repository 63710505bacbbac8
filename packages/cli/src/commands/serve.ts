import { operatorCommand } from './operator-command.ts'

export const serve = operatorCommand('serve', {
  examples: [
    [
      'countersign serve --base-url https://id.example',
      'on the embedded store in ./data, for a proxy in front on this machine',
    ],
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign serve --config /etc/countersign.json --workers 4',
      'four processes on PostgreSQL',
    ],
  ],
  about: [
    'Needs the address under which clients reach it and a master key (COUNTERSIGN_MASTER_KEY or COUNTERSIGN_MASTER_KEY_FILE). Rejects insecure settings, with all mistakes at once. Logs one line of JSON each. SIGTERM and SIGINT stop it within seconds: running requests may finish, idle and half-finished connections are destroyed.',
    'Does not create an embedded store, because an empty store in the place of a lost one would accept what was revoked: run `init` or `migrate` first. Ends with code 70 when the files of the store are removed or replaced while it runs.',
  ],
  async run({ service, config }) {
    await service.serve(config())
    return 0
  },
})
