import { limits } from '@countersign/core/contract'
import { createApiKey } from '../actions/api-keys.ts'
import { type ReadStore, readStore } from '../store/maintenance.ts'
import type { ApiKey } from '../store/store.ts'
import { type Command, Misuse } from './command.ts'
import { withStore } from './with-store.ts'

const PAGE = 200

const STOP_FIRST =
  'With the embedded store, stop the service first: it belongs to one process. Nodes on PostgreSQL may run.'

export const createOperatorKey: Command = {
  summary: 'make an API key that may administer all sites',
  words: ['[label]'],
  examples: [
    ['countersign create-operator-key', 'prints the key, once'],
    ['umask 077; countersign create-operator-key deployment > operator.key', 'into a file of your own'],
  ],
  about: [
    'The first step after an installation: sites, issuers and the keys of sites are made over HTTP with an operator key. Only a hash of it is kept. Needs the master key.',
    STOP_FIRST,
  ],
  async run({ words: [label], store, masterKey, say, note }) {
    if (label !== undefined && [...label].length > limits.label_chars_max) {
      throw new Misuse(`a label has at most ${limits.label_chars_max} characters`)
    }
    const order = { siteId: null, permissions: [], label, expiresInSeconds: undefined }
    const { key, secret } = await withStore(store(), masterKey(), (at) => createApiKey(at, order, at.act()))
    say(secret, { key_id: key.keyId, api_key: secret })
    note(`Operator key ${key.keyId}. It is shown only now.`)
    return 0
  },
}

export const operatorKeys: Command = {
  summary: 'list the operator keys',
  words: [],
  examples: [['countersign operator-keys', 'id, last four characters, since when, label']],
  about: [
    'Reads only, whether or not the service runs. Needs the master key, and passes over rows that the service did not write. The keys themselves are not shown: the store does not have them.',
  ],
  async run({ store, masterKey, say, note }) {
    const read = async ({ apiKeys }: ReadStore) => {
      const found: ApiKey[] = []
      for (let after: string | undefined; ; after = found.at(-1)?.keyId) {
        const page = await apiKeys(null, { after, limit: PAGE })
        found.push(...page)
        if (page.length < PAGE) return found
      }
    }
    const keys = await readStore(store(), read, masterKey())
    if (keys.length === 0) note('There is no operator key. Make one: countersign create-operator-key')
    const lines = keys.map(({ keyId, last4, createdAtMs, label }) =>
      [keyId, `…${last4}`, rfc3339(createdAtMs), label ?? ''].join('  ').trimEnd(),
    )
    say(lines.join('\n'), {
      items: keys.map(({ keyId: key_id, last4, createdAtMs, label }) => ({
        key_id,
        last4,
        created_at: rfc3339(createdAtMs),
        label: label ?? null,
      })),
    })
    return 0
  },
}

export const deleteOperatorKey: Command = {
  summary: 'delete an operator key',
  words: ['<key_id>'],
  examples: [
    ['countersign delete-operator-key key_01k…', 'nodes on PostgreSQL refuse it within two seconds'],
  ],
  about: [STOP_FIRST],
  async run({ words: [keyId = ''], store, masterKey, say, note }) {
    const isDeleted = await withStore(store(), masterKey(), (at) =>
      at.store.deleteApiKey(null, keyId, at.act()),
    )
    if (isDeleted) say(`Deleted ${keyId}.`, { key_id: keyId, deleted: true })
    else note(`There is no operator key ${keyId}.`)
    return isDeleted ? 0 : 1
  },
}

const rfc3339 = (ms: number) => new Date(ms).toISOString()
