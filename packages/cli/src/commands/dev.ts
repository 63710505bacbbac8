import type { Terminal } from '../terminal/output.ts'
import { OWN_COMMANDS } from '../terminal/own-commands.ts'
import { operatorCommand } from './operator-command.ts'

export const dev = operatorCommand('dev', {
  options: [
    ['--with-demo-app', 'also start two small applications that follow the demo site, for the console'],
  ],
  examples: [
    ['countersign dev', 'run at http://127.0.0.1:8787, with data in ./data'],
    ['countersign dev --with-demo-app', 'the same, with two applications that verify the demo credential'],
    ['countersign dev --port 0 --data-dir /tmp/countersign', 'run on a free port, with data elsewhere'],
  ],
  about: [
    'Creates a demo site, an issuer that it trusts, keys and two credentials, and writes them to data/dev.json for tools. The next start uses the same ones. It prints commands to paste. SIGTERM and Ctrl-C stop it.',
  ],
  async run({ given, at, service, sources }) {
    const { openDemoVerifier } = await import('../demo/demo-verifier.ts')
    const demoVerifiers = given.has('with-demo-app') ? 2 : 0
    const options = { openDemoVerifier, demoVerifiers, commands: OWN_COMMANDS }
    const { dev: file, dataDir, summary } = await service.startDevelopment(sources, options)
    const { base_url, admin_url, site_id, issuer, ppid } = file
    // Without the secrets, which are in the file.
    at.item({ base_url, admin_url, site_id, issuer, ppid, data_dir: dataDir }, () =>
      paintSummary(summary, at),
    )
    return 0
  },
})

/** The address is bold, and the titles of the commands are dim. */
function paintSummary(summary: string, { paint }: Terminal): string {
  return summary
    .replace(/^Countersign is running at .*$/m, (line) => paint('bold', line))
    .replaceAll(/^ {2}# .*$/gm, (line) => paint('dim', line))
}
