import type { Group } from '../command.ts'
import { readUser, USER_OPTIONS, USER_WORD } from '../input/user.ts'
import { connectSite } from '../service/connection.ts'
import { table } from '../terminal/output.ts'

export const users: Group = {
  verbs: {
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
  },
}
