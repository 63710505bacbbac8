import type { Verb } from '../command.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'

export const tokens: Verb = {
  options: [['--ppid <ppid>', 'only those of this user'], ...PAGE_OPTIONS],
  shares: ['site', 'service'],
  examples: [['countersign tokens --ppid did:service:ppid_…', 'list the bearer tokens of a user']],
  about: ['The tokens themselves are not shown, because the service does not store them.'],
  async run(given, at) {
    const { client, site_id } = await connectSite(given, at)
    const ppid = given.text('ppid')
    return printList(given, at, (part) => client.listTokens({ site_id, ppid, ...part }), {
      token: 'token_id',
      status: 'status',
      user: 'ppid',
      credential: 'credential_id',
      scope: 'scope',
      issued: 'issued_at',
      expires: 'expires_at',
    })
  },
}
