import type { Client } from '@countersign/sdk'
import type { Group } from '../command.ts'
import { parseOneOf } from '../input/option-values.ts'
import { parseTimeOption } from '../input/times.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import { facts, table } from '../terminal/output.ts'

type CredentialDetail = Awaited<ReturnType<Client['getCredential']>>

function toDetailText(found: CredentialDetail): string {
  const { parents, descendants, descendants_complete } = found
  const rows = facts([
    ['credential', found.credential_id],
    ['status', found.status],
    ['revoked', found.revoked_at ?? undefined],
    ['reason', found.reason ?? undefined],
    ['user', found.ppid],
    ['issuer', found.issuer],
    ['issuer key', found.issuer_key ?? 'not recorded'],
    ['scope', found.scope],
    ['bound', found.holder_bound ? 'yes' : 'no'],
    ['signed', found.signed_at],
    ['expires', found.expires_at],
    ['seen', `${found.first_seen_at}, ${found.source}`],
  ])
  const chain = parents.map(({ credential_id, status, signed_at }) => [credential_id, status, signed_at])
  const tree = descendants.map((each) => [each.credential_id, each.status, each.parent_id, each.expires_at])
  return [
    rows,
    ...(chain.length === 0 ? [] : [table(['delegated from', 'status', 'signed'], chain)]),
    ...(tree.length === 0 ? [] : [table(['delegated to', 'status', 'from', 'expires'], tree)]),
    ...(descendants_complete ? [] : ['There are more delegated credentials.']),
  ].join('\n\n')
}

export const credentials: Group = {
  standard: 'list',
  verbs: {
    list: {
      summary: 'list the credentials that a site knows',
      options: [
        ['--ppid <ppid>', 'only those of this user'],
        ['--status <status>', 'active, revoked or expired'],
        ['--issuer <issuer>', 'only those of this issuer; needs --status'],
        ['--issuer-key <key>', 'only those that this key of the issuer has signed'],
        ['--source <source>', 'issued, exchanged, presented or sign_in; needs --status'],
        ['--expires-before <time>', 'only those that expire before, the first to expire first'],
        ...PAGE_OPTIONS,
      ],
      shares: ['site', 'service'],
      examples: [
        ['countersign credentials list --ppid did:service:ppid_…', 'list the known credentials of a user'],
        ['countersign credentials list --status revoked --json', 'for a program'],
        [
          'countersign credentials list --issuer did:web:issuer.example --issuer-key key-1 --status active',
          'list what still depends on a key',
        ],
        [
          'countersign credentials list --status active --expires-before 2026-12-01T00:00:00Z',
          'list what expires soon',
        ],
      ],
      about: [
        'The service knows a credential that it issued, exchanged, accepted in a sign-in or verified at a protected route.',
      ],
      async run(given, at) {
        const status = parseOneOf(given, 'status', ['active', 'revoked', 'expired'])
        const source = parseOneOf(given, 'source', ['issued', 'exchanged', 'presented', 'sign_in'])
        const endMs = parseTimeOption(given.text('expires-before'), '--expires-before')
        const { client, site_id } = await connectSite(given, at)
        const filter = {
          ppid: given.text('ppid'),
          status,
          issuer: given.text('issuer'),
          issuer_key: given.text('issuer-key'),
          source,
          expires_before: endMs === undefined ? undefined : new Date(endMs).toISOString(),
        }
        return printList(
          given,
          at,
          'credentials',
          (part) => client.listCredentials({ site_id, ...filter, ...part }),
          {
            credential: 'credential_id',
            status: 'status',
            user: 'ppid',
            scope: 'scope',
            bound: ({ holder_bound }) => (holder_bound ? 'yes' : 'no'),
            expires: 'expires_at',
            reason: 'reason',
          },
        )
      },
    },
    show: {
      summary: 'show a credential, with its chain and what was delegated from it',
      words: [['<credential_id>', 'cred_…']],
      shares: ['site', 'service'],
      examples: [['countersign credentials show cred_01k…', 'show which credentials depend on this one']],
      about: ['Only for credentials that the service knows; countersign status asks for any id.'],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const found = await client.getCredential({ site_id, credential_id: given.word(0) })
        at.result(found, () => toDetailText(found))
        return 0
      },
    },
  },
}
