import type { Verb } from '../command.ts'
import { readToken } from '../input/token.ts'
import { connect } from '../service/connection.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const revokeToken: Verb = {
  words: [['[file]', 'a file with the token, or with the JSON of exchange; default: standard input']],
  shares: ['service', 'removal'],
  options: [['--reason <text>', 'why, for the audit']],
  examples: [
    ['countersign revoke-token token --yes', 'revoke this token'],
    ['countersign revoke-token --yes < leaked.txt', 'revoke a token that leaked'],
  ],
  about: [
    'Only the token is revoked: its credential can be exchanged for another. The exit code is 3 when there was nothing to revoke: the token is unknown, of another site, expired or already revoked.',
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
        : 'Nothing to revoke: the token is unknown, expired or already revoked.',
    )
    return done.revoked ? 0 : 3
  },
}
