import { createSealer } from '../keys/seal.ts'
import { resealStore } from '../store/maintenance.ts'
import { MASTER_KEY_SEAL } from '../store/sealed-columns.ts'
import type { Command } from './command.ts'

export const rotateMasterKey: Command = {
  summary: 'seal everything secret in the store under a new master key',
  words: [],
  examples: [
    [
      'COUNTERSIGN_MASTER_KEY_NEW_FILE=new.key countersign rotate-master-key',
      'from the key that the settings name to the one in new.key',
    ],
    ['(umask 077; openssl rand -hex 32 > new.key)', 'makes such a key, in a file that only you can read'],
  ],
  about: [
    'The new key comes from COUNTERSIGN_MASTER_KEY_NEW or from the file that COUNTERSIGN_MASTER_KEY_NEW_FILE names, never from the command line. Everything is sealed again, under the new key, in one transaction, with an audit row: when anything in the store does not open with the old key, or when it is interrupted, nothing has changed and the old key still counts.',
    'Afterwards the service starts with the new key only: put it where the old one was. Backups from before stay sealed under the old key: keep that for as long as you keep them.',
    'With the embedded store, stop the service first. Nodes on PostgreSQL may run: with the old key they go on verifying and revoking, refuse (503) what they would have to seal or open, and have to be restarted with the new one.',
  ],
  async run({ store, masterKey, newMasterKey, say, note }) {
    const place = store()
    const [from, to] = [createSealer(masterKey()), createSealer(newMasterKey())]
    const count = await resealStore(place, {
      from: from.keyName,
      reseal: (purpose, sealed) => to.seal(purpose, from.open(purpose, sealed)),
      masterKeySeal: to.seal(MASTER_KEY_SEAL, to.keyName),
      act: { actor: 'operator', atMs: Date.now(), requestId: undefined },
    })
    say(
      `Sealed again under master key ${to.keyName}, before ${from.keyName}: ${count} ${count === 1 ? 'text' : 'texts'}.`,
      {
        key_name: to.keyName,
        before: from.keyName,
        texts: count,
      },
    )
    note(
      `Put the new key where the old one was (COUNTERSIGN_MASTER_KEY or its file)${place.kind === 'postgres' ? ', and restart every node' : ', and start the service'}. Keep the old one for as long as you keep backups from before.`,
    )
    return 0
  },
}
