import { entriesText, operatorCommand } from './operator-command.ts'

export const newEpoch = operatorCommand('new-epoch', {
  examples: [
    ['countersign new-epoch', 'run it after a disk or a virtual machine was set back to a snapshot'],
  ],
  about: [
    'Checks the end of the log and everything that it continues, then begins a new epoch there. Nothing is copied. Verifiers then know that entries may be missing. `restore`, pg_restore and a fail-over of PostgreSQL begin a new epoch automatically; setting back a disk does not. With the embedded store, stop the service first. Nodes on PostgreSQL may run; they follow.',
  ],
  async run({ at, service, storeSettings }) {
    const { store, masterKey } = storeSettings()
    const { epoch, position } = await service.beginNewEpoch(store, masterKey, Date.now())
    at.item(
      { epoch, entries: position },
      () => `The log is in the new epoch ${epoch}, after ${entriesText(position)}.`,
    )
    return 0
  },
})
