import { UsageError } from '../command.ts'
import { jsonText } from '../terminal/output.ts'
import { operatorCommand } from './operator-command.ts'

const COUNT = 50

export const operatorAudit = operatorCommand('operator-audit', {
  words: [['[count]', `how many; default: ${COUNT}`]],
  examples: [
    ['countersign operator-audit', `the last ${COUNT} acts, one line of JSON each`],
    ['countersign operator-audit 1000 | grep time.reset', 'more of them, and only some'],
  ],
  about: [
    'Keys of operators and of the service, epochs of the log, the time on record, the master key: all that concerns no site. What was done to a site is listed by countersign audit. Reads only, whether or not the service runs.',
  ],
  async run({ given, at, service, store }) {
    const [text] = given.words
    const count = text === undefined ? COUNT : Number(/^\d{1,9}$/.exec(text)?.[0])
    if (!(count >= 1)) throw new UsageError('count must be an integer from 1 to 999999999')
    await service.readOperatorAudit(store(), count, ({ id, action, target, detail, context }) => {
      const row = { id, at: new Date(context.atMs).toISOString(), actor: context.actor, action, target, detail }
      at.item(row, () => jsonText(row))
    })
    return 0
  },
})
