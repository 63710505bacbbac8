import { rotateKey } from '../actions/key-upkeep.ts'
import { KEY_LEAD_MS, type KeyUse, openServiceKeys } from '../keys/service-keys.ts'
import type { Command } from './command.ts'
import { withStore } from './with-store.ts'

const MINUTE = `${KEY_LEAD_MS / 1000} seconds`

function rotation(use: KeyUse, summary: string, signs: string): Command {
  const name = `rotate-${use}-key`
  return {
    summary,
    words: [],
    switches: ['now'],
    examples: [
      [`countersign ${name}`, `a new key, published at once, signing in ${MINUTE}`],
      [`countersign ${name} --now`, 'signing at once: when the key before must not sign any more'],
    ],
    about: [
      `${signs} The key before stays published for as long as what it has signed may live. A key that has leaked has to be condemned at the sites as well. With the embedded store, stop the service first. Nodes on PostgreSQL may run: they take the new key up within seconds, which is what the delay is for.`,
    ],
    async run({ config, switches, say }) {
      const { store, masterKey, baseUrl } = config()
      const options = switches.has('now') ? { leadMs: 0 } : {}
      const keyId = await withStore(store, async (at) => {
        const keys = await openServiceKeys(at.store, masterKey, baseUrl, at.nowMs())
        return rotateKey({ store: at.store, keys }, use, at.act(), options)
      })
      say(`New ${use} key ${keyId}, signing ${switches.has('now') ? 'from now on' : `in ${MINUTE}`}.`, {
        use,
        key_id: keyId,
        signs_in_seconds: switches.has('now') ? 0 : KEY_LEAD_MS / 1000,
      })
      return 0
    },
  }
}

export const rotateIssuerKey = rotation('issuer', 'make a new key for signing credentials', 'Every site is told of it.')
export const rotateFeedKey = rotation(
  'feed',
  'make a new key for signing heads of the log',
  'It stands in the DID document of the service.',
)
