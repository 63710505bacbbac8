import type { Client } from '@countersign/sdk'
import type { Group } from '../command.ts'
import { parseOneOf } from '../input/option-values.ts'
import { type NamedUser, readUser, USER_OPTIONS, USER_WORD, userText } from '../input/user.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts, table } from '../terminal/output.ts'

type ErasedUser = Awaited<ReturnType<Client['eraseUser']>>

async function previewErasure(
  client: Pick<Client, 'eraseUser'>,
  user: NamedUser & { readonly site_id: string },
): Promise<{ readonly details: readonly string[]; readonly plan: Readonly<Record<string, unknown>> }> {
  const found = await client.eraseUser({ ...user, dry_run: true })
  const { credentials, tokens, offers, presentations, audit_rows } = found
  return {
    details: [`Known now: ${toCountsText(found)}.`],
    plan: { credentials, tokens, offers, presentations, audit_rows },
  }
}

function toCountsText({ credentials, tokens, offers, presentations, audit_rows }: ErasedUser): string {
  return `${credentials} credentials, ${tokens} tokens, ${offers} offers, ${presentations} sign-ins, ${audit_rows} audit rows`
}

/** The users of the list, and the user that `show` shows. */
type UserState = Awaited<ReturnType<Client['getUser']>>

function toCountText({ count, complete }: UserState['credentials']): string {
  return complete ? String(count) : `${count} or more`
}

function toUserText(user: UserState): string {
  const { history } = user
  const entries = history.map(({ seq, kind, at, reason }) => [seq, kind, at, reason])
  const rows = facts([
    ['user', user.ppid],
    ['status', user.status],
    ['revoked', user.revoked_at ?? undefined],
    ['reason', user.reason ?? undefined],
    ['active credentials', toCountText(user.credentials)],
    ['active tokens', toCountText(user.tokens)],
  ])
  return history.length === 0 ? rows : `${rows}\n\n${table(['seq', 'entry', 'at', 'reason'], entries)}`
}

export const users: Group = {
  verbs: {
    list: {
      summary: 'list the users that were revoked, reinstated or signed out',
      options: [['--status <status>', 'active or revoked'], ...PAGE_OPTIONS],
      shares: ['site', 'service'],
      examples: [['countersign users list --status revoked', 'list the users who are revoked now']],
      about: ['The last change first. The service does not list users that its log does not name.'],
      async run(given, at) {
        const status = parseOneOf(given, 'status', ['active', 'revoked'])
        const { client, site_id } = await connectSite(given, at)
        return printList(given, at, 'users', (part) => client.listUsers({ site_id, status, ...part }), {
          user: 'ppid',
          status: 'status',
          revoked: 'revoked_at',
          reason: 'reason',
          'last entry': ({ last_entry }) => last_entry.kind,
          at: ({ last_entry }) => last_entry.at,
        })
      },
    },
    show: {
      summary: 'show the state and the history of a user',
      words: [USER_WORD],
      options: USER_OPTIONS,
      shares: ['site', 'service'],
      examples: [
        ['countersign users show alice', 'show whether alice is revoked, since when and why'],
        ['countersign users show did:service:ppid_… --json', 'for a program'],
      ],
      about: [
        'Your own id of a user has two ids here, one of credentials and one of access tokens; both are shown. The output for a user who does not exist is that of a user without a history.',
      ],
      async run(given, at) {
        const user = readUser(given)
        const { client, site_id } = await connectSite(given, at)
        const { users: ids } =
          user.ppid === undefined
            ? await client.resolveUser({ site_id, ...user })
            : { users: [{ ppid: user.ppid }] }
        const found = await Promise.all(ids.map(({ ppid }) => client.getUser({ site_id, ppid })))
        at.result({ users: found }, () => found.map(toUserText).join('\n\n'))
        return 0
      },
    },
    resolve: {
      summary: 'show the ids of a user, and whether they are revoked',
      words: [USER_WORD],
      options: USER_OPTIONS,
      shares: ['site', 'service'],
      examples: [
        ['countersign users resolve alice', 'show the ids of the user that you call alice'],
        [
          'countersign users resolve --issuer https://idp.example --subject 248289761001',
          'show the id of a user of an OAuth issuer',
        ],
      ],
      about: [
        'Your own id of a user has two ids here: one of credentials, and one of access tokens whose issuers use your ids. The ids are computed; the output is the same for a user who does not exist.',
      ],
      async run(given, at) {
        const user = readUser(given)
        const { client, site_id } = await connectSite(given, at)
        const found = await client.resolveUser({ site_id, ...user })
        const rows = found.users.map(({ ppid, status, revoked_at }) => [ppid, status, revoked_at])
        at.result(found, () => table(['user', 'status', 'revoked'], rows))
        return 0
      },
    },
    erase: {
      summary: 'erase the data of a user, on request of the person',
      words: [USER_WORD],
      options: USER_OPTIONS,
      shares: ['site', 'service', 'removal'],
      examples: [
        ['countersign users erase alice --dry-run', 'count what would be erased'],
        ['countersign users erase alice --yes', 'erase it'],
      ],
      about: [
        'Signs the user out, then removes the known credentials, tokens, offers and sign-ins of the user, and the person from the audit log. The log keeps the pairwise ids, so that revocations stay in effect; a revoked user stays revoked. Needs a key with site:admin. It cannot be undone.',
      ],
      async run(given, at) {
        const user = readUser(given)
        const { client, site_id } = await connectSite(given, at)
        const { details, plan } = given.has('yes')
          ? { details: [], plan: {} }
          : await previewErasure(client, { site_id, ...user })
        const answer = await confirmRemoval(given, at, {
          act: `sign out ${userText(user)} at ${site_id} and erase the data of this user`,
          plan: { action: 'users erase', ...user, site_id, ...plan },
          details,
        })
        if (answer !== undefined) return answer
        const done = await client.eraseUser({ site_id, ...user })
        at.result(done, () => `The data of ${userText(user)} was erased: ${toCountsText(done)}.`)
        return 0
      },
    },
  },
}
