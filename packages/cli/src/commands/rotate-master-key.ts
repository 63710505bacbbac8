import { operatorCommand } from './operator-command.ts'

export const rotateMasterKey = operatorCommand('rotate-master-key', {
  examples: [
    [
      'COUNTERSIGN_MASTER_KEY_NEW_FILE=new.key countersign rotate-master-key',
      'change from the key of the settings to the one in new.key',
    ],
  ],
  about: [
    'The new key comes from COUNTERSIGN_MASTER_KEY_NEW or from the file that COUNTERSIGN_MASTER_KEY_NEW_FILE names, never from the command line. To create one in a file that only you can read: (umask 077; openssl rand -hex 32 > new.key). The command seals everything again under the new key, in one transaction with an audit row. If a secret does not open with the old key, or the command is interrupted, nothing changes and the old key stays valid.',
    'Afterwards the service starts only with the new key: put it where the old one was. Earlier backups stay sealed under the old key: keep it for as long as you keep them.',
    'With the embedded store, stop the service first. Nodes on PostgreSQL may run: with the old key they continue to verify and revoke, but answer 503 where they must seal or open a secret. Restart them with the new key.',
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
      `Put the new key where the old one was (COUNTERSIGN_MASTER_KEY or its file)${settings.store.kind === 'postgres' ? ', and restart every node' : ', and start the service'}. Keep the old one for as long as you keep earlier backups.`,
    )
    return 0
  },
})
