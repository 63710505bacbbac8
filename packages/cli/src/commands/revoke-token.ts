import type { Verb } from '../command.ts'
import { readToken } from '../input/token.ts'
import { connect } from '../service/connection.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revokeToken: Verb = {
  words: [['[file]', 'a file with the token, or with the answer of exchange; default: the standard input']],
  shares: ['service', 'removal'],
  options: [['--reason <text>', 'why, for the audit']],
  examples: [
    ['countersign revoke-token token --yes', 'this one token'],
    ['countersign revoke-token --yes < leaked.txt', 'one that was found somewhere'],
  ],
  about: [
    'Only the token ends: its credential can be traded for another. Ends with 3 when there was nothing to revoke: unknown, of another site, ended or revoked before.',
  ],
  async run(given, at) {
    const token = await readToken(given.words[0])
    const { client } = await connect(given, at)
    const shown = `…${token.slice(-6)}`
    const answer = await confirmRemoval(given, at, {
      act: `revoke the token ${shown}`,
      plan: { action: 'revoke-token', token: shown },
    })
    if (answer !== undefined) return answer
    const done = await client.revokeToken({ token, reason: given.text('reason') })
    at.result(done, () =>
      done.revoked
        ? `revoked  ${shown}`
        : 'There was nothing to revoke: unknown here, ended, or revoked before.',
    )
    return done.revoked ? 0 : 3
  },
}
