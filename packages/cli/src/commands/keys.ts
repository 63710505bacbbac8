import { type Group, UsageError } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts } from '../terminal/output.ts'
import { printSecret } from '../terminal/private-file.ts'

const PERMISSIONS =
  'tokens:introspect, tokens:revoke, credentials:issue, credentials:revoke, credentials:reinstate, feed:read, site:read, site:admin'

export const keys: Group = {
  verbs: {
    list: {
      summary: 'list the API keys of a site',
      options: PAGE_OPTIONS,
      shares: ['site', 'service'],
      examples: [
        ['countersign keys list --site shop.example', 'list the keys; their secrets are not stored'],
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        return printList(given, at, (part) => client.listKeys({ site_id, ...part }), {
          key: 'key_id',
          'ends with': 'last4',
          permissions: 'permissions',
          label: 'label',
          created: 'created_at',
          expires: 'expires_at',
        })
      },
    },
    show: {
      summary: 'show an API key, without its secret',
      words: [['<key_id>', 'key_…']],
      shares: ['site', 'service'],
      examples: [['countersign keys show key_01k…', 'show its permissions and its expiry']],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const key = await requireListed(
          (part) => client.listKeys({ site_id, ...part }),
          'key',
          ({ key_id }) => key_id === given.word(0),
        )
        at.result(key, () => facts(Object.entries(key)))
        return 0
      },
    },
    create: {
      summary: 'create an API key for a site; it is shown once',
      options: [
        ['--permissions <names>', `${PERMISSIONS}; may be repeated`, 'list'],
        ['--label <text>', 'a label for people'],
        ['--expires-in-seconds <n>', 'its lifetime; default: until it is deleted'],
        ['--out <file>', 'write the key to a new file that only you can read'],
      ],
      shares: ['site', 'service'],
      examples: [
        [
          'countersign keys create --permissions feed:read,tokens:introspect --label guard --out guard.key',
          'create a key for a guard',
        ],
        [
          'countersign keys create --permissions credentials:revoke --expires-in-seconds 3600',
          'print a key that is valid for an hour',
        ],
      ],
      async run(given, at) {
        const permissions = parseScopes(given, 'permissions')
        if (permissions === undefined)
          throw new UsageError(`Missing --permissions (repeatable): ${PERMISSIONS}`)
        const expires = given.integer('expires-in-seconds', { min: 1, max: 3660 * 86_400 })
        const { client, site_id } = await connectSite(given, at)
        const made = await client.createKey({
          site_id,
          permissions: permissions as never,
          label: given.text('label'),
          expires_in_seconds: expires,
        })
        const { key_id, permissions: granted, api_key } = made
        printSecret(given, at, {
          whole: made,
          secret: api_key,
          rest: { key_id, permissions: granted },
          id: key_id,
        })
        if (!at.isJson) at.note(`Key ${key_id}. It is shown only now.`)
        return 0
      },
    },
    delete: {
      summary: 'delete an API key',
      words: [['<key_id>', 'key_…']],
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign keys delete key_01k… --yes',
          'delete it; it stops working immediately, and its streams are closed',
        ],
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const target = { site_id, key_id: given.word(0) }
        const removal = {
          act: `delete the key ${target.key_id} of ${target.site_id}`,
          plan: { action: 'keys delete', ...target },
        }
        const answer = await confirmRemoval(given, at, removal)
        if (answer !== undefined) return answer
        await client.deleteKey(target)
        at.result({ key_id: target.key_id, deleted: true }, () => `Deleted ${target.key_id}.`)
        return 0
      },
    },
  },
}
