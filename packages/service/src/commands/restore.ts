import { setHeadFileAside } from '../log/head-file.ts'
import { countLost, type LostChanges } from '../store/lost-changes.ts'
import { restoreStore } from '../store/maintenance.ts'
import { countOf } from './audit-log.ts'
import type { Command } from './command.ts'

export const restore: Command = {
  summary: 'put a backup in the place of the embedded store, in a new epoch',
  words: ['<file>'],
  switches: ['keep-revocations', 'dry-run'],
  examples: [
    [
      'countersign restore /backups/monday.db --data-dir /var/lib/countersign',
      'stop the service first, start it afterwards',
    ],
    [
      'countersign restore /backups/monday.db --keep-revocations',
      'the same, and what was revoked since the backup stays revoked',
    ],
    ['countersign restore /backups/monday.db --dry-run', 'says what the backup lacks, and changes nothing'],
  ],
  about: [
    'Audits the copy, begins a new epoch of its log, audits again and only then puts it in place. What was there before is kept beside it. Refused while a service has the store open, and when the copy fails the audit; then nothing has changed. Needs the master key under which the backup is sealed.',
    'What was done after the backup is gone. The command compares the backup with the store that it replaces, and says how many revocations, distrusted issuers, compromised keys and deleted API keys the backup lacks. --keep-revocations takes all of them away in the restored store as well. Settings of sites are not compared.',
    'Verifiers that followed the replaced store keep the revocations that they know, for users, credentials and tokens. The service itself, and verifiers that start later, know only what the restored store has.',
  ],
  async run({ words: [file = ''], switches, store, headFile, masterKey, say, note, progress }) {
    const heads = headFile()
    const isRehearsal = switches.has('dry-run')
    const keepRevocations = switches.has('keep-revocations')
    const order = {
      masterKey: masterKey(),
      nowMs: Date.now(),
      keepRevocations,
      dryRun: isRehearsal,
      onPage: progress,
    }
    const { epoch, position, sites, before, lost } = await restoreStore(store(), file, order)
    // What the store was before no longer binds it.
    if (heads !== undefined && epoch !== undefined) setHeadFileAside(heads, epoch)
    const counts = typeof lost === 'object' ? countLost(lost) : null
    const facts = {
      epoch,
      entries: position,
      sites,
      before,
      lost: counts,
      kept: keepRevocations && !isRehearsal,
      dry_run: isRehearsal,
    }
    const words = isRehearsal ? 'The backup holds' : `Restored in the new epoch ${epoch}`
    say(`${words}: ${countOf({ position, sites })}.`, facts)
    if (before !== undefined) note(`The store as it was before: ${before}`)
    for (const each of lostNotes(lost, keepRevocations, isRehearsal)) note(each)
    if (isRehearsal) note('Nothing was changed.')
    return 0
  },
}

function lostNotes(
  lost: LostChanges | string | undefined,
  isKept: boolean,
  isRehearsal: boolean,
): readonly string[] {
  const again = 'Whatever was revoked after the backup must be revoked again.'
  if (lost === undefined) return [`There was no store to compare the backup with. ${again}`]
  if (typeof lost === 'string') return [`The replaced store cannot be read (${lost}). ${again}`]
  const what = lostText(lost)
  const { length } = lost.sites
  const named = `${lost.sites.slice(0, SITES_NAMED_MAX).join(', ')}${length > SITES_NAMED_MAX ? ', …' : ''}`
  return [
    what === ''
      ? 'The backup lacks nothing that the replaced store had taken away.'
      : isKept
        ? `Kept from the replaced store: ${what}.`
        : `The backup lacks what the replaced store had taken away: ${what}. ${isRehearsal ? '--keep-revocations keeps it.' : again}`,
    ...(length === 0
      ? []
      : [`The backup does not have ${length === 1 ? 'this site' : 'these sites'}: ${named}.`]),
  ]
}

const SITES_NAMED_MAX = 10

/** `148 revocations of users, 1 revocation of a credential` */
function lostText({ users, credentials, tokens, issuers, keys, apiKeys }: LostChanges): string {
  const parts: readonly (readonly [number, string, string])[] = [
    [users.size, 'revocation of a user', 'revocations of users'],
    [credentials.size, 'revocation of a credential', 'revocations of credentials'],
    [tokens.size, 'revocation of a token', 'revocations of tokens'],
    [issuers.size, 'distrusted issuer', 'distrusted issuers'],
    [keys.size, 'compromised or retired key of an issuer', 'compromised or retired keys of issuers'],
    [apiKeys.length, 'deleted API key', 'deleted API keys'],
  ]
  return parts
    .flatMap(([count, one, many]) => (count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]))
    .join(', ')
}
