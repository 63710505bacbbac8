import { operatorCommand } from './operator-command.ts'

export const rotateMasterKey = operatorCommand('rotate-master-key', {
  examples: [
    [
      'COUNTERSIGN_MASTER_KEY_NEW_FILE=new.key countersign rotate-master-key',
      'from the key that the settings name to the one in new.key',
    ],
  ],
  about: [
    'The new key comes from COUNTERSIGN_MASTER_KEY_NEW or from the file that COUNTERSIGN_MASTER_KEY_NEW_FILE names, never from the command line. To make one in a file that only you can read: (umask 077; openssl rand -hex 32 > new.key). Everything is sealed again, under the new key, in one transaction, with an audit row: when anything in the store does not open with the old key, or when it is interrupted, nothing has changed and the old key is still valid.',
    'Afterwards the service starts with the new key only: put it where the old one was. Backups from before stay sealed under the old key: keep that for as long as you keep them.',
    'With the embedded store, stop the service first. Nodes on PostgreSQL may run: with the old key they continue to verify and revoke, reject (503) what they would have to seal or open, and have to be restarted with the new one.',
  ],
  async run({ at, service, storeSettings, newMasterKey }) {
    const settings = storeSettings()
    const { keyName, before, count } = await service.rotateMasterKey(settings, newMasterKey())
    at.item(
      { key_name: keyName, before, texts: count },
      () =>
        `Sealed again under master key ${keyName}, before ${before}: ${count} ${count === 1 ? 'text' : 'texts'}.`,
    )
    at.note(
      `Put the new key where the old one was (COUNTERSIGN_MASTER_KEY or its file)${settings.store.kind === 'postgres' ? ', and restart every node' : ', and start the service'}. Keep the old one for as long as you keep backups from before.`,
    )
    return 0
  },
})
