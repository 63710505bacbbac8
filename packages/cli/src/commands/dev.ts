import { operatorCommand } from './operator-command.ts'

export const dev = operatorCommand('dev', {
  examples: [
    ['countersign dev', 'run at http://127.0.0.1:8787, with data in ./data'],
    ['countersign dev --port 0 --data-dir /tmp/countersign', 'run on a free port, with data elsewhere'],
  ],
  about: [
    'Creates a demo site, an issuer that it trusts, keys and two credentials, and writes them to data/dev.json for tools. The next start uses the same ones. It prints commands to paste. SIGTERM and Ctrl-C stop it.',
  ],
  async run({ at, service, sources }) {
    const { dev: file, dataDir, summary } = await service.startDevelopment(sources)
    const { base_url, admin_url, site_id, issuer, ppid } = file
    // Without the secrets, which are in the file.
    at.item({ base_url, admin_url, site_id, issuer, ppid, data_dir: dataDir }, () => summary)
    return 0
  },
})
