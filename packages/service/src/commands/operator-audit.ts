import { readStore } from '../store/maintenance.ts'
import { type Command, Misuse } from './command.ts'

const PAGE = 200
const COUNT = 50

export const operatorAudit: Command = {
  summary: 'list what was done to the service itself, the newest first',
  words: ['[count]'],
  examples: [
    ['countersign operator-audit', `the last ${COUNT} acts, one line of JSON each`],
    ['countersign operator-audit 1000 | grep time.reset', 'more of them, and only some'],
  ],
  about: [
    'Keys of operators and of the service, epochs of the log, the time on record, the master key: all that concerns no site. What was done to a site is under /api/sites/{site_id}/audit. Reads only, whether or not the service runs.',
  ],
  async run({ words: [text], store, say }) {
    const count = text === undefined ? COUNT : Number(/^\d{1,9}$/.exec(text)?.[0])
    if (!(count >= 1)) throw new Misuse('count must be an integer from 1 to 999999999')
    await readStore(store(), async ({ auditRows }) => {
      let left = count
      for (let after: string | undefined; left > 0; ) {
        const rows = await auditRows(null, { after, limit: Math.min(PAGE, left) })
        for (const { id, action, target, detail, act } of rows) {
          const row = { id, at: new Date(act.atMs).toISOString(), actor: act.actor, action, target, detail }
          say(JSON.stringify(row), row)
        }
        left -= rows.length
        after = rows.at(-1)?.id
        if (rows.length < PAGE) return
      }
    })
    return 0
  },
}
