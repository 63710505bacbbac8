import type { Client } from '@countersign/sdk'
import { type Given, type Group, type Option, UsageError } from '../command.ts'
import { REASON_OPTION } from '../input/option-values.ts'
import { parseScopes } from '../input/scopes.ts'
import { connect, connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts, type Terminal } from '../terminal/output.ts'
import { printNewSecret } from '../terminal/private-file.ts'

const PERMISSIONS =
  'tokens:introspect, tokens:revoke, credentials:issue, credentials:revoke, credentials:reinstate, feed:read, site:read, site:admin'

const OPERATOR_OPTION: Option = ['--operator', 'operator keys instead of the keys of a site']
const EXPIRES_SECONDS = { min: 1, max: 3660 * 86_400 }

type SiteKey = Awaited<ReturnType<Client['changeKey']>>
type OperatorKey = Awaited<ReturnType<Client['changeOperatorKey']>>
type ListedKey = OperatorKey & { readonly permissions?: SiteKey['permissions'] | undefined }

/** The calls for the keys that the command is about, with the same form for both kinds. */
interface KeyCalls {
  /** For messages: ` of shop.example`, or nothing. */
  readonly owner: string
  readonly what: 'key' | 'operator key'
  readonly plan: object
  list(part: {
    readonly limit: number
    readonly cursor?: string
  }): Promise<{ readonly items: readonly ListedKey[]; readonly next_cursor: string | null }>
  change(key_id: string, label: string | null, reason: string | undefined): Promise<ListedKey>
  delete(key_id: string, reason: string | undefined): Promise<unknown>
}

async function connectKeys(given: Given, at: Terminal): Promise<KeyCalls> {
  if (given.has('operator')) {
    const { client } = await connect(given, at, 'operator')
    return {
      owner: '',
      what: 'operator key',
      plan: {},
      list: (part) => client.listOperatorKeys(part),
      change: (key_id, label, reason) => client.changeOperatorKey({ key_id, label, reason }),
      delete: (key_id, reason) => client.deleteOperatorKey({ key_id, reason }),
    }
  }
  const { client, site_id } = await connectSite(given, at)
  return {
    owner: ` of ${site_id}`,
    what: 'key',
    plan: { site_id },
    list: (part) => client.listKeys({ site_id, ...part }),
    change: (key_id, label, reason) => client.changeKey({ site_id, key_id, label, reason }),
    delete: (key_id, reason) => client.deleteKey({ site_id, key_id, reason }),
  }
}

function keyText({ created_by, ...key }: ListedKey): string {
  const by = created_by && [created_by.type, created_by.id].filter((part) => part !== null).join(' ')
  return facts(Object.entries({ ...key, created_by: by }))
}

export const keys: Group = {
  verbs: {
    list: {
      summary: 'list the API keys of a site, or the operator keys',
      options: [...PAGE_OPTIONS, OPERATOR_OPTION],
      shares: ['site', 'service'],
      examples: [
        ['countersign keys list --site shop.example', 'list the keys; their secrets are not stored'],
        ['countersign keys list --operator', 'list the operator keys, with an operator key'],
      ],
      about: ['Last used is the hour of the last use; the service records it about a minute later.'],
      async run(given, at) {
        const { list } = await connectKeys(given, at)
        return printList(given, at, 'keys', list, {
          key: 'key_id',
          'ends with': 'last4',
          ...(given.has('operator') ? {} : { permissions: 'permissions' as const }),
          label: 'label',
          created: 'created_at',
          expires: 'expires_at',
          'last used': 'last_used_at',
        })
      },
    },
    show: {
      summary: 'show an API key, without its secret',
      words: [['<key_id>', 'key_…']],
      options: [OPERATOR_OPTION],
      shares: ['site', 'service'],
      examples: [['countersign keys show key_01k…', 'show its permissions, its expiry and its last use']],
      async run(given, at) {
        const { list, what } = await connectKeys(given, at)
        const key = await requireListed(list, what, ({ key_id }) => key_id === given.word(0))
        at.result(key, () => keyText(key))
        return 0
      },
    },
    create: {
      summary: 'create an API key for a site, or an operator key; it is shown once',
      options: [
        ['--permissions <names>', `${PERMISSIONS}; may be repeated`, 'list'],
        OPERATOR_OPTION,
        ['--label <text>', 'a label for people'],
        ['--expires-in-seconds <n>', 'its lifetime; default: until it is deleted'],
        ['--out <file>', 'write the key to a new file that only you can read'],
        REASON_OPTION,
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
        [
          'countersign keys create --operator --label deployment --out operator.key',
          'create an operator key while the service runs; the first one: countersign create-operator-key',
        ],
      ],
      async run(given, at) {
        const { key_id } = await printNewSecret(
          given,
          at,
          () => createKey(given, at),
          ({ api_key, ...rest }) => ({
            whole: { ...rest, api_key },
            secret: api_key,
            rest,
            id: rest.key_id,
          }),
        )
        if (!at.isJson) at.note(`Key ${key_id}. It is shown only now.`)
        return 0
      },
    },
    rename: {
      summary: 'change the label of an API key',
      words: [
        ['<key_id>', 'key_…'],
        ['[label]', 'the new label; without it, the label is removed'],
      ],
      options: [OPERATOR_OPTION, REASON_OPTION],
      shares: ['site', 'service'],
      examples: [
        ['countersign keys rename key_01k… "guard of the shop"', 'change its label; the key stays valid'],
      ],
      async run(given, at) {
        const { change } = await connectKeys(given, at)
        const key = await change(given.word(0), given.words[1] ?? null, given.text('reason'))
        at.result(key, () => keyText(key))
        return 0
      },
    },
    delete: {
      summary: 'delete an API key',
      words: [['<key_id>', 'key_…']],
      options: [OPERATOR_OPTION, REASON_OPTION],
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign keys delete key_01k… --yes --reason leaked',
          'delete it; it stops working immediately, and its streams are closed',
        ],
      ],
      about: [
        'The last valid operator key and the one that makes the call cannot be deleted. Create another one first, or use countersign delete-operator-key at the store.',
      ],
      async run(given, at) {
        const calls = await connectKeys(given, at)
        const key_id = given.word(0)
        const removal = {
          act: `delete the ${calls.what} ${key_id}${calls.owner}`,
          plan: { action: 'keys delete', ...calls.plan, key_id },
        }
        const answer = await confirmRemoval(given, at, removal)
        if (answer !== undefined) return answer
        await calls.delete(key_id, given.text('reason'))
        at.result({ key_id, deleted: true }, () => `Deleted ${key_id}.`)
        return 0
      },
    },
  },
}

async function createKey(given: Given, at: Terminal) {
  const permissions = parseScopes(given, 'permissions')
  const isOperator = given.has('operator')
  if (isOperator && permissions !== undefined)
    throw new UsageError('An operator key has no permissions: it may do everything. Omit --permissions.')
  if (!isOperator && permissions === undefined)
    throw new UsageError(`Missing --permissions. Give at least one of ${PERMISSIONS}`)
  const order = {
    label: given.text('label'),
    expires_in_seconds: given.integer('expires-in-seconds', EXPIRES_SECONDS),
    reason: given.text('reason'),
  }
  if (isOperator) return (await connect(given, at, 'operator')).client.createOperatorKey(order)
  const { client, site_id } = await connectSite(given, at)
  return client.createKey({ site_id, permissions: permissions as never, ...order })
}
