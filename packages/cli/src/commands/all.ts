import type { Group, Verb } from '../command.ts'

/** One command: its name, a summary for the list, and how to load it. */
export type Row = readonly [name: string, summary: string, load: () => Promise<Verb | Group>]

/** Every command, in the order of the help. */
export const sections: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  [
    'Run the service',
    [
      [
        'dev',
        'run the service for development, with a demo site',
        () => import('./dev.ts').then((file) => file.dev),
      ],
      ['serve', 'run the service', () => import('./serve.ts').then((file) => file.serve)],
      ['init', 'prepare a directory for production', () => import('./init.ts').then((file) => file.init)],
      [
        'config',
        'print the effective settings, without secrets',
        () => import('./config.ts').then((file) => file.config),
      ],
      [
        'doctor',
        'diagnose an installation and suggest fixes',
        () => import('./doctor.ts').then((file) => file.doctor),
      ],
      [
        'migrate',
        'update the schema of the store',
        () => import('./migrate.ts').then((file) => file.migrate),
      ],
      [
        'backup',
        'copy the embedded store to a file, also while in use',
        () => import('./backup.ts').then((file) => file.backup),
      ],
      [
        'restore',
        'replace the embedded store by a backup',
        () => import('./restore.ts').then((file) => file.restore),
      ],
      [
        'audit-log',
        'check the whole log and name the first bad entry',
        () => import('./audit-log.ts').then((file) => file.auditLog),
      ],
      [
        'new-epoch',
        'begin a new epoch after the store was set back',
        () => import('./new-epoch.ts').then((file) => file.newEpoch),
      ],
      [
        'accept-rollback',
        'begin a new epoch after the log has lost entries',
        () => import('./accept-rollback.ts').then((file) => file.acceptRollback),
      ],
      [
        'reset-time',
        'correct the time on record after a clock was wrong',
        () => import('./reset-time.ts').then((file) => file.resetTime),
      ],
      [
        'create-operator-key',
        'create an API key that may administer all sites',
        () => import('./operator-keys.ts').then((file) => file.createOperatorKey),
      ],
      [
        'operator-keys',
        'list the operator keys',
        () => import('./operator-keys.ts').then((file) => file.operatorKeys),
      ],
      [
        'delete-operator-key',
        'delete an operator key',
        () => import('./operator-keys.ts').then((file) => file.deleteOperatorKey),
      ],
      [
        'operator-audit',
        'list what was done to the service, newest first',
        () => import('./operator-audit.ts').then((file) => file.operatorAudit),
      ],
      [
        'rotate-issuer-key',
        'create a new key for signing credentials',
        () => import('./rotate-key.ts').then((file) => file.rotateIssuerKey),
      ],
      [
        'rotate-feed-key',
        'sign the log with the next feed key',
        () => import('./rotate-key.ts').then((file) => file.rotateFeedKey),
      ],
      [
        'rotate-master-key',
        'seal the secrets in the store under a new master key',
        () => import('./rotate-master-key.ts').then((file) => file.rotateMasterKey),
      ],
    ],
  ],
  [
    'Credentials and tokens',
    [
      [
        'keygen',
        'create a key pair for a holder or an issuer',
        () => import('./keygen.ts').then((file) => file.keygen),
      ],
      ['issue', 'issue a credential to a user', () => import('./issue.ts').then((file) => file.issue)],
      [
        'offer',
        'create a one-time link for claiming a credential',
        () => import('./offer.ts').then((file) => file.offer),
      ],
      [
        'inspect',
        'read a credential and explain every check, offline',
        () => import('./inspect.ts').then((file) => file.inspect),
      ],
      [
        'verify',
        'decide whether a site accepts a credential',
        () => import('./verify.ts').then((file) => file.verify),
      ],
      [
        'present',
        'send a request with a credential and its holder proof',
        () => import('./present.ts').then((file) => file.present),
      ],
      [
        'delegate',
        'delegate a narrower credential to another holder',
        () => import('./delegate.ts').then((file) => file.delegate),
      ],
      [
        'exchange',
        'exchange a credential for a short-lived bearer token',
        () => import('./exchange.ts').then((file) => file.exchange),
      ],
      [
        'introspect',
        'ask whether a bearer token is active',
        () => import('./introspect.ts').then((file) => file.introspect),
      ],
      [
        'status',
        'ask for the revocation status of credentials',
        () => import('./status.ts').then((file) => file.status),
      ],
    ],
  ],
  [
    'Revoke and reinstate',
    [
      [
        'revoke-user',
        'revoke the access of a user at a site',
        () => import('./revoke-user.ts').then((file) => file.revokeUser),
      ],
      ['revoke', 'revoke one credential', () => import('./revoke.ts').then((file) => file.revoke)],
      [
        'revoke-token',
        'revoke a bearer token',
        () => import('./revoke-token.ts').then((file) => file.revokeToken),
      ],
      [
        'reinstate',
        'accept new credentials of a revoked user again',
        () => import('./reinstate.ts').then((file) => file.reinstate),
      ],
    ],
  ],
  [
    'Administer',
    [
      ['sites', 'list, show, create and change sites', () => import('./sites.ts').then((file) => file.sites)],
      [
        'issuers',
        'list, show, add and change issuers and their keys',
        () => import('./issuers.ts').then((file) => file.issuers),
      ],
      [
        'keys',
        'list, show, create and delete API keys of a site',
        () => import('./keys.ts').then((file) => file.keys),
      ],
      [
        'webhooks',
        'manage webhooks and list what was sent',
        () => import('./webhooks.ts').then((file) => file.webhooks),
      ],
      [
        'credentials',
        'list the credentials that a site knows',
        () => import('./credentials.ts').then((file) => file.credentials),
      ],
      ['tokens', 'list the bearer tokens of a site', () => import('./tokens.ts').then((file) => file.tokens)],
      [
        'audit',
        'list what was done at a site, and which caller did it',
        () => import('./audit.ts').then((file) => file.audit),
      ],
      [
        'verifiers',
        'list the verifiers that follow a site',
        () => import('./verifiers.ts').then((file) => file.verifiers),
      ],
    ],
  ],
  [
    'Watch and try',
    [
      [
        'watch',
        'follow the log of a site as it grows',
        () => import('./watch.ts').then((file) => file.watch),
      ],
      [
        'listen',
        'receive the webhooks of a site on this machine',
        () => import('./listen.ts').then((file) => file.listen),
      ],
      [
        'bench',
        'load a running service and measure its latencies',
        () => import('./bench.ts').then((file) => file.bench),
      ],
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
