import { replaceCompromisedFeedKey, rotateKey } from '../actions/key-upkeep.ts'
import { KEY_LEAD_MS, KEY_RELOAD_MS, openServiceKeys, type ServiceKeys } from '../keys/service-keys.ts'
import type { Act, Store } from '../store/store.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { withStore } from './with-store.ts'

const LEAD_SECONDS = KEY_LEAD_MS / 1000
const RELOAD_SECONDS = KEY_RELOAD_MS / 1000
const WHERE =
  'With the embedded store, stop the service first. ' +
  `Nodes on PostgreSQL may run: each reads new keys every ${RELOAD_SECONDS} seconds, which is what the delay is for.`

export const rotateIssuerKey: Command = {
  summary: 'make a new key for signing credentials',
  words: [],
  switches: ['now'],
  examples: [
    ['countersign rotate-issuer-key', `a new key, published at once, signing in ${LEAD_SECONDS} seconds`],
    ['countersign rotate-issuer-key --now', 'signing at once: when the key before must not sign any more'],
  ],
  about: [
    'Every site is told of it. The key before stays published for as long as what it has signed may live. ' +
      `A key that has leaked has to be marked as compromised at the sites as well. ${WHERE}`,
  ],
  async run(given) {
    const isNow = given.switches.has('now')
    const keyId = await withKeys(given, (deps, act) =>
      rotateKey(deps, 'issuer', act, isNow ? { leadMs: 0 } : {}),
    )
    given.say(`New issuer key ${keyId}, signing ${isNow ? 'from now on' : `in ${LEAD_SECONDS} seconds`}.`, {
      use: 'issuer',
      key_id: keyId,
      signs_in_seconds: isNow ? 0 : LEAD_SECONDS,
    })
    return 0
  },
}

export const rotateFeedKey: Command = {
  summary: 'sign heads of the log with the next feed key',
  words: [],
  switches: ['now', 'compromised'],
  examples: [
    [
      'countersign rotate-feed-key',
      `the next key signs in ${LEAD_SECONDS} seconds; the current one is withdrawn an hour later`,
    ],
    ['countersign rotate-feed-key --now', 'the next key signs at once'],
    [
      'countersign rotate-feed-key --compromised',
      'after a leak: the next key signs at once, and all earlier keys are withdrawn at once',
    ],
  ],
  about: [
    'The next key was prepared when the current one came into use. Verifiers expect it, because the current key has committed to its hash. ' +
      'They follow by themselves; guards with pins do too. Then give guards that use pins new ones: countersign doctor prints them.',
    'After a leak use --compromised. A thief of the leaked key cannot name another successor. ' +
      'If the master key may have leaked too, so may the next key: run --compromised twice, then give every guard new pins and restart it.',
    WHERE,
  ],
  async run(given) {
    const isCompromised = given.switches.has('compromised')
    if (isCompromised && given.switches.has('now'))
      throw new Misuse('--compromised includes --now. Give one of the two.')
    const isNow = isCompromised || given.switches.has('now')
    const { keyId, nextSha256 } = await withKeys(given, async (deps, act) => {
      const rotated = isCompromised
        ? await replaceCompromisedFeedKey(deps, act)
        : await rotateKey(deps, 'feed', act, isNow ? { leadMs: 0 } : {})
      return { keyId: rotated, nextSha256: deps.keys.feedKeyChain.at(-1)?.next_sha256 }
    })
    const withdrawn = isCompromised ? ' All earlier feed keys are withdrawn.' : ''
    given.say(
      `New feed key ${keyId}, signing ${isNow ? 'from now on' : `in ${LEAD_SECONDS} seconds`}.${withdrawn}`,
      {
        use: 'feed',
        key_id: keyId,
        next_sha256: nextSha256,
        signs_in_seconds: isNow ? 0 : LEAD_SECONDS,
        compromised: isCompromised,
      },
    )
    return 0
  },
}

function withKeys<T>(
  { config }: Given,
  run: (deps: { readonly store: Store; readonly keys: ServiceKeys }, act: Act) => Promise<T>,
): Promise<T> {
  const { store, masterKey, baseUrl } = config()
  return withStore(store, masterKey, async (at) => {
    const keys = await openServiceKeys(at.store, masterKey, baseUrl, at.nowMs())
    return run({ store: at.store, keys }, at.act())
  })
}
