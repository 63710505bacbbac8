import type { LogHead, SiteId } from '@countersign/core'
import { readHeadFile, setHeadFileAside } from '../log/head-file.ts'
import { compareHeads, type HeadComparison } from '../log/lost-heads.ts'
import { beginNewEpoch, requireStore } from '../store/maintenance.ts'
import type { Store } from '../store/store.ts'
import type { Command } from './command.ts'
import { withStore } from './with-store.ts'

export const acceptRollback: Command = {
  summary: 'accept that the log has lost entries, and begin a new epoch',
  words: [],
  switches: ['yes'],
  examples: [
    [
      'countersign accept-rollback',
      'shows which entries the head file proves and the store does not have; changes nothing',
    ],
    ['countersign accept-rollback --yes', 'after you have looked for them: begins a new epoch without them'],
  ],
  about: [
    'A node that finds a signed head beyond the end of its log, in its head file or shown by a verifier, rejects everything until an operator has looked. The entries may be on another disk, on a replica or in a backup: look there first. If they are lost, this command begins a new epoch of the log. Verifiers follow it, keep the revocations that they know, and report how many the new epoch lacks.',
    'Revoke again what was revoked in the lost entries: this node and new verifiers do not know them. The command is written to the audit, with the heads that were lost.',
    'With the embedded store, stop the service first. On PostgreSQL run it once; nodes may run, and follow within seconds.',
  ],
  async run({ store, headFile, masterKey, switches, say, note }) {
    const place = store()
    const key = masterKey()
    const file = headFile()
    await requireStore(place)
    const isAccepted = switches.has('yes')
    const { lost } = await withStore(place, key, async (at) => {
      const found = await readLoss(at.store, file)
      const listed = found.lost
        .slice(0, LISTED_MAX)
        .map(({ head: { site_id, epoch, seq, hash } }) => `${site_id} ${epoch}.${seq} ${hash}`)
      const detail = { lost: listed, sites: found.lost.length }
      const row = {
        siteId: null,
        action: 'log.accept_rollback',
        target: at.store.epoch,
        detail,
        act: at.act(),
      }
      if (isAccepted) await at.store.audit(row)
      return found
    })
    const facts = lost.map(toFacts)
    const words = lost.map(
      ({ head, seq }) =>
        `  ${head.site_id}: entry ${head.seq} of epoch ${head.epoch}, signed ${head.as_of}; the store has ${seq}`,
    )
    const summary =
      lost.length === 0
        ? `No signed head ${file === undefined ? '' : `in ${file} `}is missing from the store.`
        : 'Missing from the store:'
    if (!isAccepted) {
      say([summary, ...words].join('\n'), { changed: false, lost: facts })
      note(
        'Nothing was changed. To begin a new epoch without these entries: countersign accept-rollback --yes',
      )
      return 2
    }
    const { epoch, position } = await beginNewEpoch(place, key, Date.now())
    const aside = file === undefined ? undefined : settleHeadFile(file, epoch)
    say(
      [
        summary,
        ...words,
        `The log is in the new epoch ${epoch}, with ${position} ${position === 1 ? 'entry' : 'entries'}.`,
      ].join('\n'),
      {
        changed: true,
        lost: facts,
        epoch,
        entries: position,
      },
    )
    if (aside !== undefined) note(`The head file as it was before: ${aside}`)
    note('Revoke again what the lost entries had revoked.')
    return 0
  },
}

/** So many heads go into the audit row; the number of all of them does too. */
const LISTED_MAX = 20
const PAGE = 1000

const toFacts = ({ head, seq }: HeadComparison['lost'][number]) => ({
  site_id: head.site_id,
  epoch: head.epoch,
  seq: head.seq,
  hash: head.hash,
  as_of: head.as_of,
  store_seq: seq,
})

/** A node that runs may have written the heads of the new epoch already; those stay. */
function settleHeadFile(file: string, epoch: string): string | undefined {
  const heads = [...(readHeadFile(file)?.heads.values() ?? [])]
  return heads.some((head) => head.epoch !== epoch) ? setHeadFileAside(file, epoch) : undefined
}

async function readLoss(store: Store, file: string | undefined): Promise<HeadComparison> {
  const kept = file === undefined ? undefined : readHeadFile(file)
  if (kept === undefined) return { lost: [], leftBehind: [] }
  const heads = new Map<SiteId, LogHead>()
  for (let after: string | undefined; ; ) {
    const page = await store.siteHeads({ after, limit: PAGE })
    for (const head of page) heads.set(head.siteId, head)
    after = page.at(-1)?.siteId
    if (page.length < PAGE) break
  }
  return compareHeads(store, kept.heads.values(), (siteId) => heads.get(siteId))
}
