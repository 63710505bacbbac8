import type { RestoreResult } from '@countersign/service'
import { confirmRemoval } from '../terminal/confirm.ts'
import { countText, operatorCommand } from './operator-command.ts'

type Lost = RestoreResult['lost']

export const restore = operatorCommand('restore', {
  words: [['<file>', 'the backup']],
  shares: ['removal'],
  options: [['--keep-revocations', 'keep what was revoked since the backup']],
  examples: [
    [
      'countersign restore /backups/monday.db --data-dir /var/lib/countersign',
      'restore; stop the service before and start it afterwards',
    ],
    [
      'countersign restore /backups/monday.db --keep-revocations',
      'restore, and keep what was revoked since the backup',
    ],
    ['countersign restore /backups/monday.db --dry-run', 'report what the backup lacks, and change nothing'],
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign restore /backups/monday.db',
      'move to PostgreSQL: load the backup into an empty database',
    ],
  ],
  about: [
    'Audits the backup, begins a new epoch of its log, audits again and then replaces the store. It keeps the replaced store beside the new one. It fails, and changes nothing, while a service has the store open or when the backup fails the audit. Needs the master key under which the backup is sealed.',
    'Changes since the backup are lost. The command compares the backup with the store that it replaces, and reports how many revocations, cut-offs, distrusted issuers, compromised keys, deleted API keys and ended access of people the backup lacks. --keep-revocations applies all of them to the restored store. Settings of sites are not compared.',
    'To move to PostgreSQL, set COUNTERSIGN_DATABASE_URL to an empty database: the backup of the embedded store is loaded into it, in one transaction. It fails, and changes nothing, when the database already has a store. A database is restored from its own copies with pg_restore.',
    'Verifiers that followed the replaced store keep the revocations that they know, for users, credentials and tokens. The service itself, and verifiers that start later, know only what the restored store has.',
  ],
  async run({ given, at, service, storeSettings, headFile, onProgress }) {
    const file = given.word(0)
    const dryRun = given.has('dry-run')
    const keepRevocations = given.has('keep-revocations')
    const settings = { ...storeSettings(), headFile: headFile() }
    // An empty database loses nothing.
    const removesStore = settings.store.kind === 'sqlite'
    const act = `replace the store with ${file} and lose all changes since that backup`
    const answer = removesStore && !dryRun ? await confirmRemoval(given, at, { act, plan: {} }) : undefined
    if (answer !== undefined) return answer
    const options = { dryRun, keepRevocations, onProgress }
    const { epoch, position, sites, before, lost, lostCounts } = await service.restore(
      settings,
      file,
      options,
    )
    at.item(
      {
        epoch,
        entries: position,
        sites,
        before,
        lost: lostCounts,
        kept: keepRevocations && !dryRun,
        dry_run: dryRun,
      },
      () =>
        `${dryRun ? 'The backup is intact' : `Restored in the new epoch ${epoch}`}: ${countText({ position, sites })}.`,
    )
    if (before !== undefined) at.note(`The store as it was before: ${before}`)
    for (const note of describeLoss(lost, keepRevocations, dryRun)) at.note(note)
    if (dryRun) {
      const plan = removesStore ? `replace the store with ${file}` : `load ${file} into the database`
      at.note(`Would ${plan}.\nNothing was changed.`)
    }
    return 0
  },
})

/** Describes what the replaced store had and the backup lacks. */
function describeLoss(lost: Lost, isKept: boolean, dryRun: boolean): readonly string[] {
  const again = 'Revoke again whatever was revoked after the backup.'
  if (lost === undefined) return [`There was no store to compare the backup with. ${again}`]
  if (typeof lost === 'string') return [`The replaced store cannot be read (${lost}). ${again}`]
  const what = lossText(lost)
  const { length } = lost.sites
  const named = `${lost.sites.slice(0, SITES_NAMED_MAX).join(', ')}${length > SITES_NAMED_MAX ? ', …' : ''}`
  return [
    what === ''
      ? 'The backup lacks nothing that the replaced store had revoked.'
      : isKept
        ? `Kept from the replaced store: ${what}.`
        : `The backup lacks what the replaced store had revoked: ${what}. ${dryRun ? '--keep-revocations keeps it.' : again}`,
    ...(length === 0
      ? []
      : [`The backup does not have ${length === 1 ? 'this site' : 'these sites'}: ${named}.`]),
  ]
}

const SITES_NAMED_MAX = 10

/** `148 revocations of users, 1 revocation of a credential` */
function lossText(lost: Exclude<Lost, string | undefined>) {
  const { users, credentials, tokens, issuers, keys, cutOffs, apiKeys, people, passkeys, sessions } = lost
  const parts: readonly (readonly [number, string, string])[] = [
    [users.size, 'revocation of a user', 'revocations of users'],
    [credentials.size, 'revocation of a credential', 'revocations of credentials'],
    [tokens.size, 'revocation of a token', 'revocations of tokens'],
    [issuers.size, 'distrusted issuer', 'distrusted issuers'],
    [keys.size, 'compromised or retired key of an issuer', 'compromised or retired keys of issuers'],
    [cutOffs.size, 'cut-off', 'cut-offs'],
    [apiKeys.length, 'deleted API key', 'deleted API keys'],
    [people.length, 'person with less access', 'people with less access'],
    [passkeys.length, 'removed passkey', 'removed passkeys'],
    [sessions.length, 'ended session', 'ended sessions'],
  ]
  return parts
    .flatMap(([count, one, many]) => (count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]))
    .join(', ')
}
