import type { Group, Verb } from '../command.ts'

/** One command: its name, a summary for the list, and how to load it. */
export type Row = readonly [name: string, summary: string, load: () => Promise<Verb | Group>]

/** `audit-log` becomes `auditLog`. */
type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

/** A command whose file exports it under its name in camel case. */
function command<Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<Readonly<Record<CamelCase<Name>, Verb | Group>>>,
): Row {
  const exported = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  return [name, summary, async () => (await load())[exported as CamelCase<Name>]]
}

/** Every command, in the order of the help. */
export const sections: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  [
    'Run the service',
    [
      command('dev', 'run the service for development, with a demo site', () => import('./dev.ts')),
      command('serve', 'run the service', () => import('./serve.ts')),
      command('init', 'prepare a directory for production', () => import('./init.ts')),
      command('config', 'print the effective settings, without secrets', () => import('./config.ts')),
      command('doctor', 'diagnose an installation and suggest fixes', () => import('./doctor.ts')),
      command('migrate', 'update the schema of the store', () => import('./migrate.ts')),
      command('backup', 'copy the embedded store to a file, also while in use', () => import('./backup.ts')),
      command('restore', 'replace the embedded store by a backup', () => import('./restore.ts')),
      command(
        'audit-log',
        'check the whole log and name the first bad entry',
        () => import('./audit-log.ts'),
      ),
      command('cut-log', 'remove old entries from the log', () => import('./cut-log.ts')),
      command('new-epoch', 'begin a new epoch after the store was set back', () => import('./new-epoch.ts')),
      command(
        'accept-rollback',
        'begin a new epoch after the log has lost entries',
        () => import('./accept-rollback.ts'),
      ),
      command(
        'reset-time',
        'correct the time on record after a clock was wrong',
        () => import('./reset-time.ts'),
      ),
      command(
        'create-operator-key',
        'create an API key that may administer all sites',
        () => import('./operator-keys.ts'),
      ),
      command('operator-keys', 'list the operator keys', () => import('./operator-keys.ts')),
      command('delete-operator-key', 'delete an operator key', () => import('./operator-keys.ts')),
      command(
        'operator-audit',
        'list what was done to the service, newest first',
        () => import('./operator-audit.ts'),
      ),
      command(
        'verify-audit-archive',
        'check the files of audit rows that were archived',
        () => import('./verify-audit-archive.ts'),
      ),
      command(
        'rotate-issuer-key',
        'create a new key for signing credentials',
        () => import('./rotate-key.ts'),
      ),
      command('rotate-feed-key', 'sign the log with the next feed key', () => import('./rotate-key.ts')),
      command(
        'rotate-master-key',
        'seal the secrets in the store under a new master key',
        () => import('./rotate-master-key.ts'),
      ),
    ],
  ],
  [
    'Protect your application',
    [command('add', 'write a guard and a route into your application', () => import('./add.ts'))],
  ],
  [
    'Credentials and tokens',
    [
      command('keygen', 'create a key pair for a holder or an issuer', () => import('./keygen.ts')),
      command('issue', 'issue a credential to a user', () => import('./issue.ts')),
      command('offer', 'create a one-time link for claiming a credential', () => import('./offer.ts')),
      command('inspect', 'read a credential and explain every check, offline', () => import('./inspect.ts')),
      command('verify', 'decide whether a site accepts a credential', () => import('./verify.ts')),
      command(
        'present',
        'send a request with a credential and its holder proof',
        () => import('./present.ts'),
      ),
      command('delegate', 'delegate a narrower credential to another holder', () => import('./delegate.ts')),
      command(
        'exchange',
        'exchange a credential for a short-lived bearer token',
        () => import('./exchange.ts'),
      ),
      command('introspect', 'ask whether a bearer token is active', () => import('./introspect.ts')),
      command('status', 'ask for the revocation status of credentials', () => import('./status.ts')),
    ],
  ],
  [
    'Revoke and reinstate',
    [
      command('revoke-user', 'revoke the access of a user at a site', () => import('./revoke-user.ts')),
      command(
        'sign-out-user',
        'end all current access of a user, who may sign in again',
        () => import('./sign-out-user.ts'),
      ),
      command('revoke', 'revoke one credential, access token or session', () => import('./revoke.ts')),
      command('revoke-token', 'revoke a bearer token', () => import('./revoke-token.ts')),
      command(
        'revoke-all',
        'revoke all users, credentials and tokens of a file',
        () => import('./revoke-all.ts'),
      ),
      command(
        'revoke-holder',
        'revoke everything that is bound to a stolen key',
        () => import('./revoke-holder.ts'),
      ),
      command(
        'cut-off',
        'end everything issued so far by an issuer or for a site',
        () => import('./cut-off.ts'),
      ),
      command('reinstate', 'accept new credentials of a revoked user again', () => import('./reinstate.ts')),
    ],
  ],
  [
    'Administer',
    [
      command('sites', 'list, show, create and change sites', () => import('./sites.ts')),
      command('issuers', 'list, show, add and change issuers and their keys', () => import('./issuers.ts')),
      command('keys', 'list, create, rename and delete API keys', () => import('./keys.ts')),
      command('people', 'manage the people who may sign in', () => import('./people.ts')),
      command('console', 'create a link that signs a person in', () => import('./console.ts')),
      command('webhooks', 'manage webhooks and list what was sent', () => import('./webhooks.ts')),
      command('users', 'list and show users, their ids, and erase their data', () => import('./users.ts')),
      command('credentials', 'list and show credentials that a site knows', () => import('./credentials.ts')),
      command('deliveries', 'list what was sent to all webhooks of a site', () => import('./deliveries.ts')),
      command('tokens', 'list and revoke the bearer tokens of a site', () => import('./tokens.ts')),
      command('audit', 'list what was done at a site, and which caller did it', () => import('./audit.ts')),
      command('verifiers', 'list the verifiers that follow a site', () => import('./verifiers.ts')),
      command('nodes', 'list the nodes of the service and their state', () => import('./nodes.ts')),
      command('preview', 'count what a revocation would end', () => import('./preview.ts')),
      command(
        'receipts',
        'list the receipts of revocations, or show a signed one',
        () => import('./receipts.ts'),
      ),
      command('verify-receipt', 'check the signature of a receipt', () => import('./verify-receipt.ts')),
      command('drill', 'measure how fast a revocation reaches every verifier', () => import('./drill.ts')),
    ],
  ],
  [
    'Watch and try',
    [
      command(
        'summary',
        'show decisions at a site, and who uses bearer tokens',
        () => import('./summary.ts'),
      ),
      command('log', 'list the entries of the log of a site', () => import('./log.ts')),
      command('watch', 'follow the log of a site as it grows', () => import('./watch.ts')),
      command('listen', 'receive the webhooks of a site on this machine', () => import('./listen.ts')),
      command('bench', 'load a running service and measure its latencies', () => import('./bench.ts')),
    ],
  ],
]

/** Undefined for an unknown name. */
export function findRow(name: string): Row | undefined {
  for (const [, rows] of sections) {
    const row = rows.find(([each]) => each === name)
    if (row !== undefined) return row
  }
  return undefined
}
