import type { Verb } from '../command.ts'
import { connectSite } from '../service/connection.ts'
import { facts } from '../terminal/output.ts'

export const reinstate: Verb = {
  words: [['<ppid>', 'the user, did:service:ppid_…']],
  shares: ['site', 'service'],
  options: [['--reason <text>', 'why, for the audit']],
  examples: [
    [
      'countersign reinstate did:service:ppid_… --reason "laptop found"',
      'reinstate the user, then issue a new credential',
    ],
  ],
  about: ['Credentials signed from now on are accepted. Older ones stay revoked permanently.'],
  async run(given, at) {
    const { client, site_id } = await connectSite(given, at)
    const done = await client.reinstateUser({
      ppid: given.word(0),
      site_id,
      reason: given.text('reason'),
    })
    at.result(done, () =>
      facts([
        [done.already_active ? 'was not revoked' : 'reinstated', done.ppid],
        ['at', done.reinstated_at],
        ['log', `${done.epoch}.${done.seq}`],
      ]),
    )
    if (!done.already_active) at.note('Older credentials stay revoked. Issue a new one.')
    return 0
  },
}
