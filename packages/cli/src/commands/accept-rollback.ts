import { entriesText, operatorCommand } from './operator-command.ts'

export const acceptRollback = operatorCommand('accept-rollback', {
  options: [['--yes', 'begin a new epoch; without this flag, nothing is changed']],
  examples: [
    [
      'countersign accept-rollback',
      'list entries that the head file proves and the store lacks; change nothing',
    ],
    ['countersign accept-rollback --yes', 'begin a new epoch without them, after you have looked for them'],
  ],
  about: [
    'A node rejects everything when its head file or a verifier shows a signed head beyond the end of its log. The missing entries may be on another disk, on a replica or in a backup: look there first. If they are lost, this command begins a new epoch of the log. Verifiers follow it, keep the revocations that they know, and report how many the new epoch lacks.',
    'Without --yes, the exit code is 3 when entries are missing, and 0 when none is known to be. When the head file shows that nothing is missing, --yes changes nothing either. Without a head file, --yes begins a new epoch. The head files of all workers on this machine are read.',
    'Revoke again what the lost entries revoked: this node and new verifiers do not know them. The audit records the command and the lost heads.',
    'With the embedded store, stop the service first. On PostgreSQL run it once; running nodes follow within seconds.',
  ],
  async run({ given, at, service, storeSettings, headFile: readHeadFile }) {
    const settings = { ...storeSettings(), headFile: readHeadFile() }
    const { lost, isComplete, incompleteFile, accepted } = await service.acceptRollback(settings, {
      dryRun: !given.has('yes'),
    })
    const lostFacts = lost.map(({ head: { site_id, epoch, seq, hash, as_of }, seq: store_seq }) => ({
      site_id,
      epoch,
      seq,
      hash,
      as_of,
      store_seq,
    }))
    const lines = [
      lost.length > 0
        ? 'Missing from the store:'
        : isComplete
          ? NOTHING_MISSING
          : describeUnknown(incompleteFile),
      ...lost.map(
        ({ head, seq }) =>
          `  ${head.site_id}: entry ${head.seq} of epoch ${head.epoch}, signed ${head.as_of}; the store ${seq < head.seq ? `has ${seq}` : 'has another entry with this number'}`,
      ),
    ]
    if (accepted === undefined) {
      at.item({ changed: false, lost: lostFacts }, () => lines.join('\n'))
      at.note(`Nothing was changed. ${describeNext(lost.length, isComplete)}`)
      return lost.length > 0 ? 3 : 0
    }
    const { epoch, position, headFilesBefore } = accepted
    at.item({ changed: true, lost: lostFacts, epoch, entries: position }, () =>
      [...lines, `The log is in the new epoch ${epoch}, with ${entriesText(position)}.`].join('\n'),
    )
    for (const file of headFilesBefore) at.note(`The head file as it was before: ${file}`)
    at.note('Revoke again what the lost entries had revoked.')
    return 0
  },
})

const NOTHING_MISSING = 'Nothing is missing. There is nothing to accept.'

function describeUnknown(incompleteFile: string | undefined): string {
  return incompleteFile === undefined
    ? 'There is no head file, so this command cannot find what is missing: head_file is off.'
    : `${incompleteFile} does not exist or has lines that cannot be read, so this command cannot find all that is missing.`
}

function describeNext(lostCount: number, isComplete: boolean): string {
  if (lostCount > 0) return 'To begin a new epoch without these entries: countersign accept-rollback --yes'
  return isComplete
    ? 'If a node still reports lost entries, use the head file of that node, or begin a new epoch: countersign new-epoch'
    : 'If a node reports lost entries, begin a new epoch without them: countersign accept-rollback --yes'
}
