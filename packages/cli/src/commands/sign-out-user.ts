import type { Verb } from '../command.ts'
import { readUser, USER_OPTIONS, USER_WORD, userText } from '../input/user.ts'
import { connectCutOff, printCutOff, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const signOutUser: Verb = {
  words: [USER_WORD],
  options: [...USER_OPTIONS, ...REVOCATION_OPTIONS],
  shares: ['site', 'service', 'removal'],
  examples: [
    ['countersign sign-out-user alice --reason "lost phone" --yes', 'end all current access of the user'],
  ],
  about: [
    'Ends everything that was issued to the user until now. What is issued later is accepted, so the user can sign in again; to prevent that, use revoke-user. With --wait, the exit code is 3 when a connected verifier has not confirmed in time; the sign-out is in force in any case.',
  ],
  async run(given, at) {
    const user = readUser(given)
    const revoker = await connectCutOff(given, at)
    const { client, site_id } = revoker
    const answer = await confirmRemoval(given, at, {
      act: `end all current access of ${userText(user)} at ${site_id}`,
      plan: { action: 'sign-out-user', ...user, site_id },
    })
    if (answer !== undefined) return answer
    const done = await client.signOutUser({ ...user, site_id, reason: given.text('reason') })
    return printCutOff(revoker, at, userText(user), done)
  },
}
