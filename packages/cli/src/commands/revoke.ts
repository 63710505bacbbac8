import { UsageError, type Verb } from '../command.ts'
import { connectRevoker, printRevocation, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revoke: Verb = {
  words: [['[credential_id]', 'cred_…, also one that the service does not know; not needed with --self']],
  shares: ['site', 'service', 'removal', 'credential'],
  options: [
    ...REVOCATION_OPTIONS,
    ['--self', 'revoke your own credential with itself instead of a key; also a delegated one'],
  ],
  examples: [
    [
      'countersign revoke cred_01k… --reason "agent retired" --yes',
      'revoke one credential; the others stay valid',
    ],
    [
      'countersign revoke --self --credential helper.json --holder-key helper.jwk --yes',
      'revoke a credential that you no longer need',
    ],
  ],
  about: [
    'A revoked credential is never valid again, and neither is any credential delegated from it. With --wait, the exit code is 3 when a connected verifier has not confirmed in time; the revocation is in force in any case.',
  ],
  async run(given, at) {
    const isSelf = given.has('self')
    if (isSelf === (given.words[0] !== undefined))
      throw new UsageError('Missing credential. Give the id of a credential, or --self, but not both.')
    const revoker = await connectRevoker(given, at)
    const { client, site_id, own, options } = revoker
    const credential_id = own?.credentialId ?? given.word(0)
    const plan = { action: 'revoke', credential_id, site_id }
    const answer = await confirmRemoval(given, at, {
      act: `revoke ${credential_id} at ${site_id}, permanently`,
      plan,
    })
    if (answer !== undefined) return answer
    const done = await client.revokeCredential(
      { credential_id, site_id, reason: given.text('reason') },
      options,
    )
    return printRevocation(revoker, at, credential_id, done)
  },
}
