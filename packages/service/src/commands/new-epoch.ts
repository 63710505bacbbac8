import { beginNewEpoch } from '../store/maintenance.ts'
import type { Command } from './command.ts'

export const newEpoch: Command = {
  summary: 'begin a new epoch of the log, after the store was set back',
  words: [],
  examples: [['countersign new-epoch', 'after a disk or a virtual machine was set back to a snapshot']],
  about: [
    'Audits the log, then writes the same entries again under a new name, so that no verifier takes a log that may have lost entries for the continuation of the one it knew. `restore`, pg_restore and a fail-over of PostgreSQL are noticed and do this by themselves; a snapshot of a disk is not. With the embedded store, stop the service first. Nodes on PostgreSQL may run: they follow.',
  ],
  async run({ store, masterKey, say }) {
    const { epoch, position } = await beginNewEpoch(store(), masterKey(), Date.now())
    say(`The log is in the new epoch ${epoch}, with ${position} ${position === 1 ? 'entry' : 'entries'}.`, {
      epoch,
      entries: position,
    })
    return 0
  },
}
