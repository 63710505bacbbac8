import type { Verb } from '../command.ts'
import { loadHolderDid } from '../input/holder-did.ts'
import { connectCutOff, printCutOff, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revokeHolder: Verb = {
  words: [['<key>', 'a did:key, a file that keygen wrote, or an RFC 7638 thumbprint']],
  options: REVOCATION_OPTIONS,
  shares: ['site', 'service', 'removal'],
  examples: [
    [
      'countersign revoke-holder bot.jwk --reason "laptop stolen"',
      'revoke everything that is bound to a key',
    ],
  ],
  about: [
    'Permanently revokes everything that is bound to the key or was delegated through it: credentials, their tokens, and access tokens with a DPoP key. With --wait, the exit code is 3 when a connected verifier has not confirmed in time; the revocation is in force in any case.',
  ],
  async run(given, at) {
    const word = given.word(0)
    const isThumbprint = /^[A-Za-z0-9_-]{43}$/.test(word)
    const what = isThumbprint ? word : await loadHolderDid(word)
    const key = isThumbprint ? { thumbprint: what } : { holder_key: what }
    const revoker = await connectCutOff(given, at)
    const { client, site_id } = revoker
    const answer = await confirmRemoval(given, at, {
      act: `revoke everything bound to ${what} at ${site_id}, permanently`,
      plan: { action: 'revoke-holder', ...key, site_id },
    })
    if (answer !== undefined) return answer
    const done = await client.revokeHolder({ ...key, site_id, reason: given.text('reason') })
    return printCutOff(revoker, at, what, done)
  },
}
