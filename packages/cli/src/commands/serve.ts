import { operatorCommand } from './operator-command.ts'

export const serve = operatorCommand('serve', {
  examples: [
    [
      'countersign serve --base-url https://id.example',
      'use the embedded store in ./data, behind a proxy on this machine',
    ],
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign serve --config /etc/countersign.json --workers 4',
      'run four processes on PostgreSQL',
    ],
  ],
  about: [
    'Needs the address that clients use and a master key (COUNTERSIGN_MASTER_KEY or COUNTERSIGN_MASTER_KEY_FILE). Rejects insecure settings, and reports all mistakes together. Logs one line of JSON per event. SIGTERM and SIGINT stop it within seconds: running requests may finish, idle and half-finished connections are closed.',
    'Does not create an embedded store, because an empty store in place of a lost one would accept revoked credentials: run `init` or `migrate` first. The exit code is 70 when the files of the store are removed or replaced while it runs.',
  ],
  async run({ service, config }) {
    await service.serve(config())
    return 0
  },
})
