import { UsageError, type Verb } from '../command.ts'
import { readUser, USER_OPTIONS, USER_WORD, userText } from '../input/user.ts'
import { connectRevoker, printRevocation, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { previewRevocation } from '../service/revocation-preview.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revokeUser: Verb = {
  words: [USER_WORD],
  shares: ['site', 'service', 'removal', 'credential'],
  options: [
    ...USER_OPTIONS,
    ...REVOCATION_OPTIONS,
    ['--self', 'revoke yourself, with your own credential instead of a key'],
  ],
  examples: [
    [
      'countersign revoke-user alice --reason "lost laptop" --wait 5',
      'revoke, and wait up to 5 seconds for all verifiers',
    ],
    [
      'countersign revoke-user did:service:ppid_… --dry-run',
      'list the credentials and tokens that would end',
    ],
    [
      'countersign revoke-user --issuer https://idp.example --subject 248289761001',
      'revoke a user of an OAuth issuer',
    ],
    [
      'countersign revoke-user --self --credential mine.json --holder-key mine.jwk --yes',
      'revoke yourself when your credential is lost',
    ],
  ],
  about: [
    'Ends all credentials and access tokens of the user at the site: known ones, unknown ones and new ones, until the user is reinstated. When it returns, the revocation is durable and the answering node denies access. With --wait, the exit code is 3 when a connected verifier has not confirmed in time; the revocation is in force in any case.',
  ],
  async run(given, at) {
    const isSelf = given.has('self')
    const isNamed = given.words.length > 0 || given.has('issuer') || given.has('subject')
    if (isSelf && isNamed) throw new UsageError('Two users. Give one user, or --self, but not both.')
    const named = isSelf ? undefined : readUser(given)
    const revoker = await connectRevoker(given, at)
    const { client, site_id, own, options } = revoker
    const user = named ?? { ppid: own?.ppid ?? '' }
    const { details, plan } =
      isSelf || given.has('yes') ? { details: [], plan: {} } : await previewRevocation(client, site_id, user)
    const removal = {
      act: `revoke the access of ${userText(user)} at ${site_id}`,
      plan: { action: 'revoke-user', ...user, site_id, ...plan },
      details,
    }
    const answer = await confirmRemoval(given, at, removal)
    if (answer !== undefined) return answer
    const done = await client.revokeUser({ ...user, site_id, reason: given.text('reason') }, options)
    return printRevocation(revoker, at, userText(user), done)
  },
}
