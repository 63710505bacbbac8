import type { Verb } from '../command.ts'
import { parseOneOf } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'

export const credentials: Verb = {
  options: [
    ['--ppid <ppid>', 'only those of this user'],
    ['--status <status>', 'active, revoked or expired'],
    ...PAGE_OPTIONS,
  ],
  shares: ['site', 'service'],
  examples: [
    ['countersign credentials --ppid did:service:ppid_…', 'list the known credentials of a user'],
    ['countersign credentials --status revoked --json', 'for a program'],
  ],
  about: [
    'The service knows a credential that it issued, exchanged, accepted in a sign-in or verified at a protected route.',
  ],
  async run(given, at) {
    const status = parseOneOf(given, 'status', ['active', 'revoked', 'expired'])
    const { client, site_id } = await connectSite(given, at)
    const ppid = given.text('ppid')
    return printList(given, at, (part) => client.listCredentials({ site_id, ppid, status, ...part }), {
      credential: 'credential_id',
      status: 'status',
      user: 'ppid',
      scope: 'scope',
      bound: ({ holder_bound }) => (holder_bound ? 'yes' : 'no'),
      expires: 'expires_at',
      reason: 'reason',
    })
  },
}
