import type { Verb } from '../command.ts'
import { connectSite } from '../service/connection.ts'
import { loadPages, PAGE_OPTIONS, printList } from '../service/paging.ts'

export const tokens: Verb = {
  options: [['--ppid <ppid>', 'only those of this user'], ...PAGE_OPTIONS],
  shares: ['site', 'service'],
  examples: [['countersign tokens --ppid did:service:ppid_…', 'list the bearer tokens of a user']],
  about: ['The tokens themselves are not shown, because the service does not store them.'],
  async run(given, at) {
    const { client, site_id } = await connectSite(given, at)
    const page = await loadPages(given, (part) =>
      client.listTokens({ site_id, ppid: given.text('ppid'), ...part }),
    )
    return printList(
      at,
      page,
      ['token', 'status', 'user', 'credential', 'scope', 'issued', 'expires'],
      (each) => [
        each.token_id,
        each.status,
        each.ppid,
        each.credential_id,
        each.scope.join(' '),
        each.issued_at,
        each.expires_at,
      ],
    )
  },
}
