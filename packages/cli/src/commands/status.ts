import { UsageError, type Verb } from '../command.ts'
import { connect } from '../service/connection.ts'
import { table } from '../terminal/output.ts'

const IDS_MAX = 100

export const status: Verb = {
  words: [['<credential_ids...>', 'ids of credentials, at most 100']],
  shares: ['site', 'service'],
  options: [['--min-seq <epoch.seq>', 'answer only from revocation data at least this new; needs --site']],
  examples: [
    ['countersign status cred_01k…', 'print active, revoked, expired or unknown'],
    ['countersign status cred_01k… cred_01m… --json', 'check several together'],
  ],
  about: [
    'Works without a key. With a key of the site it also prints how and why a credential was revoked. The exit code is 3 unless all are active.',
  ],
  async run(given, at) {
    if (given.words.length > IDS_MAX) throw new UsageError(`Too many ids. Give at most ${IDS_MAX} at a time.`)
    const { client } = await connect(given, at, 'anyone')
    const minSeq = given.text('min-seq')
    const siteId = given.text('site')
    if (minSeq !== undefined && siteId === undefined) throw new UsageError('--min-seq needs --site')
    const answer = await client.revocationStatus({
      credential_ids: [...given.words],
      site_id: siteId,
      min_seq: minSeq,
    })
    const rows = Object.entries(answer.statuses)
    at.result(answer, () =>
      table(
        ['credential', 'status', 'since', 'how', 'reason'],
        rows.map(([id, { status: state, revoked_at, revocation_type, reason }]) => [
          id,
          state,
          revoked_at,
          revocation_type,
          reason,
        ]),
      ),
    )
    return rows.every(([, { status: state }]) => state === 'active') ? 0 : 3
  },
}
