import { UsageError, type Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { orUsageError, readDevFile, rejectUsage } from '../service/connection.ts'
import { facts, jsonText } from '../terminal/output.ts'
import { printNewSecret } from '../terminal/private-file.ts'

export const delegate: Verb = {
  words: [['<holder>', 'the key of the new holder: a did:key, or a file that keygen wrote']],
  shares: ['credential'],
  options: [
    ['--scope <scope>', 'a scope of your credential; may be repeated', 'list'],
    ['--ttl-seconds <n>', 'its lifetime, never longer than that of yours; default: 3600'],
    ['--delegable', 'the new holder may delegate it again'],
    ['--out <file>', 'write the credential to a new file that only you can read'],
  ],
  examples: [
    [
      'countersign delegate did:key:z6Mk… --credential mine.json --holder-key mine.jwk --scope orders:read',
      'delegate one scope for an hour',
    ],
    [
      'countersign delegate helper.jwk --bound --scope orders:read --out helper.json',
      'delegate from the demo credential',
    ],
  ],
  about: [
    'Works offline: you sign the new credential with the key of yours. Your credential must be bound to your key and delegable. Revoking yours also revokes every credential delegated from it.',
  ],
  async run(given, at) {
    const scope = parseScopes(given)
    if (scope === undefined)
      throw new UsageError('Missing --scope. Give at least one, such as --scope orders:read')
    const ttlSeconds = given.integer('ttl-seconds', { min: 1, max: 366 * 86_400 }) ?? 3600
    const [{ agentFetch }, { didKey }, { chooseCredential, readPrivateKey, requireKey }] = await Promise.all([
      import('@countersign/sdk'),
      import('@countersign/core'),
      import('../credential/read-credential.ts'),
    ])
    if (given.text('credential') === undefined) at.note('Using the credential of data/dev.json')
    const { document, signed, holderKey } = await chooseCredential(given, readDevFile(at))
    if (signed.credential.holderKey === undefined)
      throw new UsageError(
        'This credential is not bound to a key, so it cannot be delegated. Use one that is bound and delegable.',
      )
    const key = requireKey(holderKey)
    const to = given.word(0).startsWith('did:')
      ? given.word(0)
      : didKey((await readPrivateKey(given.word(0))).publicKey)
    // Nothing is sent; agentFetch requires an origin.
    const agent = orUsageError(() =>
      agentFetch({ credential: document, holderKey: key, origins: 'https://nowhere.invalid' }),
    )
    const delegable = given.has('delegable')
    const readId = (credential: { readonly id?: unknown }) =>
      String(credential.id).replace('did:service:', '')
    const { credential } = await printNewSecret(
      given,
      at,
      () => agent.delegate({ scope, ttlSeconds, holderKey: to, delegable }).catch(rejectUsage),
      (made) => ({
        whole: { credential: made.credential, credential_id: readId(made.credential) },
        secret: jsonText(made.credential, 2),
        rest: { credential_id: readId(made.credential) },
        id: readId(made.credential),
      }),
    )
    if (!at.isJson)
      at.note(
        facts([
          ['credential', readId(credential)],
          ['for', to],
          ['expires', credential.validUntil],
          ['file', given.text('out')],
        ]),
      )
    return 0
  },
}
