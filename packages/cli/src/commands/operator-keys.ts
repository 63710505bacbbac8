import { CommandError } from '../command.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { table, visible } from '../terminal/output.ts'
import { operatorCommand } from './operator-command.ts'

const STOP_FIRST =
  'With the embedded store, stop the service first: only one process can open it. Nodes on PostgreSQL may run.'

export const createOperatorKey = operatorCommand('create-operator-key', {
  words: [['[label]', 'its purpose, shown in lists']],
  examples: [
    ['countersign create-operator-key', 'print the key, once'],
    [
      'umask 077; countersign create-operator-key deployment > operator.key',
      'write it to a file that only you can read',
    ],
  ],
  about: [
    'The first step after an installation: with an operator key you create sites, issuers and the keys of sites over HTTP. The store contains only a hash of it. Needs the master key.',
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
  examples: [
    [
      'countersign operator-keys',
      'print id, last four characters, creation time and label; with --json also the hour of the last use',
    ],
  ],
  about: [
    'It only reads, and the service may run. Needs the master key, and skips rows that the service did not write. The keys themselves are not shown, because the store does not contain them.',
  ],
  async run({ at, service, storeSettings }) {
    const keys = await service.listOperatorKeys(storeSettings())
    if (keys.length === 0) at.note('There is no operator key. Create one: countersign create-operator-key')
    const items = keys.map(({ keyId: key_id, last4, createdAtMs, lastUsedAtMs, label }) => ({
      key_id,
      last4,
      created_at: new Date(createdAtMs).toISOString(),
      last_used_at: lastUsedAtMs === undefined ? null : new Date(lastUsedAtMs).toISOString(),
      label: label ?? null,
    }))
    at.item({ items }, () =>
      table(
        ['key', 'ends with', 'created', 'label'],
        items.map(({ key_id, last4, created_at, label }) => [key_id, `…${last4}`, created_at, label]),
      ),
    )
    return 0
  },
})

export const deleteOperatorKey = operatorCommand('delete-operator-key', {
  words: [['<key_id>', 'the key, as countersign operator-keys lists it']],
  shares: ['removal'],
  examples: [
    [
      'countersign delete-operator-key key_01k…',
      'delete it; nodes on PostgreSQL reject it within two seconds',
    ],
  ],
  about: [STOP_FIRST],
  async run({ given, at, service, storeSettings }) {
    const keyId = given.word(0)
    const settings = storeSettings()
    if (given.has('dry-run')) {
      const key = (await service.listOperatorKeys(settings)).find((each) => each.keyId === keyId)
      if (key === undefined) throw noSuchKey(keyId)
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
    if (!(await service.deleteOperatorKey(settings, keyId))) throw noSuchKey(keyId)
    at.item({ key_id: keyId, deleted: true }, () => `Deleted ${keyId}.`)
    return 0
  },
})

const noSuchKey = (keyId: string) =>
  new CommandError('failed', `There is no operator key ${keyId}. List them: countersign operator-keys`)
