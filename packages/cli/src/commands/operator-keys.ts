import { CommandError, UsageError } from '../command.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { visible } from '../terminal/output.ts'
import { operatorCommand } from './operator-command.ts'

const STOP_FIRST =
  'With the embedded store, stop the service first: it belongs to one process. Nodes on PostgreSQL may run.'

export const createOperatorKey = operatorCommand('create-operator-key', {
  words: [['[label]', 'what it is for, shown in lists']],
  examples: [
    ['countersign create-operator-key', 'prints the key, once'],
    ['umask 077; countersign create-operator-key deployment > operator.key', 'into a file of your own'],
  ],
  about: [
    'The first step after an installation: sites, issuers and the keys of sites are made over HTTP with an operator key. The store keeps only a hash of it. Needs the master key.',
    STOP_FIRST,
  ],
  async run({ given, at, service, storeSettings }) {
    const { keyId, secret } = await service.createOperatorKey(storeSettings(), given.words[0])
    at.item({ key_id: keyId, api_key: secret }, () => secret)
    at.note(`Operator key ${keyId}. It is shown only now.`)
    return 0
  },
})

export const operatorKeys = operatorCommand('operator-keys', {
  examples: [['countersign operator-keys', 'id, last four characters, since when, label']],
  about: [
    'Reads only, whether or not the service runs. Needs the master key, and skips rows that the service did not write. The keys themselves are not shown: the store does not have them.',
  ],
  async run({ at, service, storeSettings }) {
    const keys = await service.listOperatorKeys(storeSettings())
    if (keys.length === 0) at.note('There is no operator key. Make one: countersign create-operator-key')
    const items = keys.map(({ keyId: key_id, last4, createdAtMs, label }) => ({
      key_id,
      last4,
      created_at: new Date(createdAtMs).toISOString(),
      label: label ?? null,
    }))
    at.item({ items }, () =>
      items
        .map(({ key_id, last4, created_at, label }) =>
          [key_id, `…${last4}`, created_at, visible(label ?? '')].join('  ').trimEnd(),
        )
        .join('\n'),
    )
    return 0
  },
})

export const deleteOperatorKey = operatorCommand('delete-operator-key', {
  words: [['<key_id>', 'the key, as countersign operator-keys lists it']],
  shares: ['removal'],
  examples: [
    ['countersign delete-operator-key key_01k…', 'nodes on PostgreSQL reject it within two seconds'],
  ],
  about: [STOP_FIRST],
  async run({ given, at, service, storeSettings }) {
    const keyId = given.word(0)
    if (given.has('dry-run')) {
      const key = (await service.listOperatorKeys(storeSettings())).find((each) => each.keyId === keyId)
      if (key === undefined)
        throw new UsageError(`There is no operator key ${keyId}. All of them: countersign operator-keys`)
      at.result(
        { dry_run: true, key_id: keyId },
        () =>
          `Would delete the operator key ${keyId}${key.label === undefined ? '' : ` (${visible(key.label)})`}.`,
      )
      at.note('Nothing was changed.')
      return 0
    }
    const answer = await confirmRemoval(given, at, { act: `delete the operator key ${keyId}`, plan: {} })
    if (answer !== undefined) return answer
    if (!(await service.deleteOperatorKey(storeSettings(), keyId)))
      throw new CommandError('failed', `There is no operator key ${keyId}.`)
    at.item({ key_id: keyId, deleted: true }, () => `Deleted ${keyId}.`)
    return 0
  },
})
