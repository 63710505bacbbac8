import { UsageError, type Verb } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import { entryTarget } from '../terminal/entry-target.ts'
import { facts } from '../terminal/output.ts'

const LIMIT_DEFAULT = 50

/** Which kinds there are is the service's to say. */
type Kind = 'user.revoked'

export const log: Verb = {
  options: [
    ['--after <epoch.seq>', 'only later entries, oldest first'],
    ['--before <epoch.seq>', 'only earlier entries'],
    ['--kind <kind>', 'only entries of this kind, for example user.revoked'],
    ['--head', 'print the signed head of the log instead'],
    ...PAGE_OPTIONS,
  ],
  shares: ['site', 'service'],
  examples: [
    ['countersign log --limit 20', 'print the last twenty entries, newest first'],
    ['countersign log --kind issuer.trusted --json', 'print every change of trust, for a program'],
    ['countersign log --after k3v9x2q7.0 --limit 10', 'print the first ten entries'],
    ['countersign log --head --json', 'print the signed head'],
  ],
  about: [
    `Lists ${LIMIT_DEFAULT} entries by default. Needs a key with site:read or feed:read. The service removes old entries after the time for which the log is kept; the list then ends at the oldest entry that is left. To follow the log as it grows: countersign watch`,
  ],
  async run(given, at) {
    const [after, before] = [given.text('after'), given.text('before')]
    for (const [flag, text] of Object.entries({ after, before }))
      if (text !== undefined && !/^[0-9a-z]{8,32}\.\d{1,15}$/.test(text))
        throw new UsageError(`--${flag} must be epoch.seq, as a revocation prints it under log`)
    const kind = given.text('kind') as Kind | undefined
    const isHead = given.has('head')
    if (isHead && [after, before, kind].some((text) => text !== undefined))
      throw new UsageError('--head takes no --after, --before or --kind')
    const { client, site_id } = await connectSite(given, at)
    if (isHead) {
      const head = await client.readHead({ site_id, observe: '1' })
      at.result(head, () => facts(Object.entries(head)))
      return 0
    }
    const filter = omitUndefined({ after, before, kind })
    return printList(
      given,
      at,
      'entries',
      (part) => client.listLogEntries({ site_id, ...filter, ...part }),
      { seq: 'seq', at: 'at', kind: 'kind', about: ({ body }) => entryTarget(body) },
      LIMIT_DEFAULT,
    )
  },
}
