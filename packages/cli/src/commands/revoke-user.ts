import { UsageError, type Verb } from '../command.ts'
import { connectRevoker, printRevocation, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { previewRevocation } from '../service/revocation-preview.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revokeUser: Verb = {
  words: [['[ppid]', 'the user, did:service:ppid_…; not needed with --self']],
  shares: ['site', 'service', 'removal', 'credential'],
  options: [...REVOCATION_OPTIONS, ['--self', 'revoke yourself, with your own credential instead of a key']],
  examples: [
    [
      'countersign revoke-user did:service:ppid_… --reason "lost laptop" --wait 5',
      'revoke, and wait up to 5 seconds for all verifiers',
    ],
    [
      'countersign revoke-user did:service:ppid_… --dry-run',
      'list the credentials and tokens that would end',
    ],
    [
      'countersign revoke-user --self --credential mine.json --holder-key mine.jwk --yes',
      'revoke yourself when your credential is lost',
    ],
  ],
  about: [
    'Ends all credentials of the user at the site: known ones, unknown ones and new ones, until the user is reinstated. When it returns, the revocation is durable and the answering node denies access. With --wait, the exit code is 3 when a connected verifier has not confirmed in time; the revocation is in force in any case.',
  ],
  async run(given, at) {
    const isSelf = given.has('self')
    if (isSelf === (given.words[0] !== undefined))
      throw new UsageError('Missing user. Give the ppid of a user, or --self, but not both.')
    const revoker = await connectRevoker(given, at)
    const { client, site_id, own, options } = revoker
    const ppid = own?.ppid ?? given.word(0)
    const { details, plan } =
      isSelf || given.has('yes') ? { details: [], plan: {} } : await previewRevocation(client, site_id, ppid)
    const removal = {
      act: `revoke the access of ${ppid} at ${site_id}`,
      plan: { action: 'revoke-user', ppid, site_id, ...plan },
      details,
    }
    const answer = await confirmRemoval(given, at, removal)
    if (answer !== undefined) return answer
    const done = await client.revokeUser({ ppid, site_id, reason: given.text('reason') }, options)
    return printRevocation(revoker, at, ppid, done)
  },
}
