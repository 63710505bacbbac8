import { operatorCommand } from './operator-command.ts'

export const dev = operatorCommand('dev', {
  examples: [
    ['countersign dev', 'at http://127.0.0.1:8787, with its data in ./data'],
    ['countersign dev --port 0 --data-dir /tmp/countersign', 'on a free port, elsewhere'],
  ],
  about: [
    'Makes what a first request needs: a site, an issuer that it trusts, keys and two credentials, and lists them in data/dev.json for tools. A second start finds the same. It prints commands to paste. SIGTERM and Ctrl-C stop it.',
  ],
  async run({ at, service, sources }) {
    const { dev: file, dataDir, summary } = await service.startDevelopment(sources)
    const { base_url, admin_url, site_id, issuer, ppid } = file
    // Without the secrets, which are in the file.
    at.item({ base_url, admin_url, site_id, issuer, ppid, data_dir: dataDir }, () => summary)
    return 0
  },
})
