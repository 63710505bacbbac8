import { UsageError } from '../command.ts'
import { operatorCommand } from './operator-command.ts'

const NODES =
  'With the embedded store, stop the service first. ' +
  'Nodes on PostgreSQL may run: each reads new keys every 5 seconds, so the delay gives them time.'

const whenText = (seconds: number) => (seconds === 0 ? 'from now on' : `in ${seconds} seconds`)

export const rotateIssuerKey = operatorCommand('rotate-issuer-key', {
  options: [['--now', 'the new key signs immediately']],
  examples: [
    ['countersign rotate-issuer-key', 'create a key that is published immediately and signs in 60 seconds'],
    ['countersign rotate-issuer-key --now', 'sign immediately, when the previous key must not sign any more'],
  ],
  about: [
    'Every site is notified. The previous key stays published for as long as credentials that it signed may be valid. ' +
      `Also mark a leaked key as compromised at the sites. ${NODES}`,
  ],
  async run({ given, at, service, config }) {
    const { keyId, signsInSeconds } = await service.rotateIssuerKey(config(), { isNow: given.has('now') })
    at.item(
      { use: 'issuer', key_id: keyId, signs_in_seconds: signsInSeconds },
      () => `New issuer key ${keyId}, signing ${whenText(signsInSeconds)}.`,
    )
    return 0
  },
})

export const rotateFeedKey = operatorCommand('rotate-feed-key', {
  options: [
    ['--now', 'the next key signs immediately'],
    ['--compromised', 'the next key signs immediately, and all earlier keys are withdrawn immediately'],
  ],
  examples: [
    [
      'countersign rotate-feed-key',
      'the next key signs in 60 seconds; the current one is withdrawn an hour later',
    ],
    ['countersign rotate-feed-key --now', 'the next key signs immediately'],
    [
      'countersign rotate-feed-key --compromised',
      'after a leak: the next key signs immediately, and all earlier keys are withdrawn immediately',
    ],
  ],
  about: [
    'The next key was prepared when the current one came into use. Verifiers expect it, because the current key has committed to its hash. ' +
      'They follow by themselves; guards with pins do too. Then give guards that use pins new ones: countersign doctor prints them.',
    'After a leak use --compromised. A thief of the leaked key cannot name another next key. ' +
      'If the master key may have leaked too, so may the next key: run --compromised twice, then give every guard new pins and restart it.',
    NODES,
  ],
  async run({ given, at, service, config }) {
    const [isNow, isCompromised] = [given.has('now'), given.has('compromised')]
    if (isCompromised && isNow) throw new UsageError('--compromised includes --now. Give one of the two.')
    const { keyId, nextSha256, signsInSeconds } = await service.rotateFeedKey(config(), {
      isNow,
      isCompromised,
    })
    at.item(
      {
        use: 'feed',
        key_id: keyId,
        next_sha256: nextSha256,
        signs_in_seconds: signsInSeconds,
        compromised: isCompromised,
      },
      () =>
        `New feed key ${keyId}, signing ${whenText(signsInSeconds)}.${isCompromised ? ' All earlier feed keys are withdrawn.' : ''}`,
    )
    return 0
  },
})
