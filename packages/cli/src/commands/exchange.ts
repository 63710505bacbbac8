import type { Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { connect } from '../service/connection.ts'
import { facts } from '../terminal/output.ts'

export const exchange: Verb = {
  shares: ['credential', 'site', 'service'],
  options: [
    ['--scope <scope>', 'a scope of the credential; may be repeated; default: all of them', 'list'],
    ['--ttl-seconds <n>', 'the lifetime of the token, 60 to 3600; default: 900'],
  ],
  examples: [
    ['countersign exchange > token', 'exchange the demo credential for a token of fifteen minutes'],
    [
      'countersign exchange --credential bot.json --holder-key bot.jwk --scope orders:read --json',
      'print the whole response',
    ],
  ],
  about: [
    'For programs that cannot send a credential. Anyone who has a bearer token can use it. It becomes invalid with its credential, its user or its issuer.',
  ],
  async run(given, at) {
    const { client, dev } = await connect(given, at, 'anyone')
    const { chooseCredential, requireKey } = await import('../credential/read-credential.ts')
    const { document, signed, holderKey } = await chooseCredential(given, dev)
    const isBound = signed.credential.holderKey !== undefined
    const token = await client.exchangeProof(
      {
        credential: document as never,
        site_id: given.text('site'),
        requested_scope: parseScopes(given),
        ttl_seconds: given.integer('ttl-seconds', { min: 60, max: 3600 }),
      },
      isBound ? { holderKey: requireKey(holderKey) } : {},
    )
    at.result(token, () => token.access_token)
    if (!at.isJson)
      at.note(
        facts([
          ['site', token.site_id],
          ['scope', token.scope],
          ['permission', token.permission_id],
          ['lives', `${token.expires_in} s`],
        ]),
      )
    return 0
  },
}
