import { UsageError } from '../command.ts'
import { table } from '../terminal/output.ts'
import { operatorCommand } from './operator-command.ts'

const COUNT = 50

export const operatorAudit = operatorCommand('operator-audit', {
  words: [['[count]', `how many actions; default: ${COUNT}`]],
  examples: [
    ['countersign operator-audit', `list the last ${COUNT} actions`],
    ['countersign operator-audit 1000 | grep time.reset', 'find actions of one kind'],
    ['countersign operator-audit --json', 'with all details, one line of JSON each'],
  ],
  about: [
    'Lists actions that concern no site: on operator keys, keys of the service, epochs of the log, the time on record and the master key. For the actions at a site: countersign audit. It only reads, and the service may run.',
  ],
  async run({ given, at, service, store }) {
    const [text] = given.words
    const count = text === undefined ? COUNT : Number(/^\d{1,9}$/.exec(text)?.[0])
    if (!(count >= 1)) throw new UsageError('count must be an integer from 1 to 999999999')
    const cells: (readonly (string | undefined)[])[] = []
    await service.readOperatorAudit(store(), count, ({ id, action, target, detail, context }) => {
      const row = {
        id,
        at: new Date(context.atMs).toISOString(),
        actor: context.actor,
        action,
        target,
        detail,
      }
      if (at.isJson) at.item(row, () => '')
      else cells.push([row.at, row.actor, action, target])
    })
    if (at.isJson) return 0
    if (cells.length === 0) at.note('No actions.')
    else at.line(table(['at', 'who', 'action', 'target'], cells))
    return 0
  },
})
