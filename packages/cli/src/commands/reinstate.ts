import type { Verb } from '../command.ts'
import { readUser, USER_OPTIONS, USER_WORD, userText } from '../input/user.ts'
import { connectSite } from '../service/connection.ts'
import { facts } from '../terminal/output.ts'

export const reinstate: Verb = {
  words: [USER_WORD],
  shares: ['site', 'service'],
  options: [...USER_OPTIONS, ['--reason <text>', 'why, for the audit']],
  examples: [
    [
      'countersign reinstate alice --reason "laptop found"',
      'reinstate the user, then issue a new credential',
    ],
  ],
  about: [
    'Credentials and access tokens issued from now on are accepted. Older ones stay revoked permanently.',
  ],
  async run(given, at) {
    const user = readUser(given)
    const { client, site_id } = await connectSite(given, at)
    const done = await client.reinstateUser({ ...user, site_id, reason: given.text('reason') })
    at.result(done, () =>
      facts([
        [done.already_active ? 'was not revoked' : 'reinstated', userText(user)],
        ['ids', done.entries.length > 1 ? done.entries.map(({ ppid }) => ppid) : undefined],
        ['at', done.reinstated_at],
        ['log', `${done.epoch}.${done.seq}`],
      ]),
    )
    if (!done.already_active) at.note('Older credentials stay revoked. Issue a new one.')
    return 0
  },
}
