import type { Group } from '../command.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import { connectCutOff, printTokenRevocation, REVOCATION_OPTIONS } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'

export const tokens: Group = {
  standard: 'list',
  verbs: {
    list: {
      summary: 'list the bearer tokens of a site',
      options: [
        ['--ppid <ppid>', 'only those of this user'],
        ['--sha256 <hex>', 'only the token with this hash'],
        ...PAGE_OPTIONS,
      ],
      shares: ['site', 'service'],
      examples: [['countersign tokens list --ppid did:service:ppid_…', 'list the bearer tokens of a user']],
      about: ['The tokens themselves are not shown, because the service does not store them.'],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const filter = { ppid: given.text('ppid'), token_sha256: given.text('sha256') }
        return printList(given, at, 'tokens', (part) => client.listTokens({ site_id, ...filter, ...part }), {
          token: 'token_id',
          status: 'status',
          user: 'ppid',
          credential: 'credential_id',
          scope: 'scope',
          issued: 'issued_at',
          expires: 'expires_at',
        })
      },
    },
    revoke: {
      summary: 'revoke a bearer token by its id',
      words: [['<token_id>', 'as the list shows it']],
      options: REVOCATION_OPTIONS,
      shares: ['site', 'service', 'removal'],
      examples: [
        ['countersign tokens revoke tok_01k… --reason "leaked" --yes', 'revoke this token'],
        ['countersign tokens revoke tok_01k… --yes --wait 5', 'and wait up to 5 seconds for all verifiers'],
      ],
      about: [
        'Only the token is revoked: its credential can be exchanged for another. If you have the token itself, use revoke-token. The exit code is 3 when there was nothing to revoke: the token is unknown, of another site, expired or already revoked. With --wait, it is also 3 when a connected verifier has not confirmed in time; the revocation is in force in any case.',
      ],
      async run(given, at) {
        const token_id = given.word(0)
        const revoker = await connectCutOff(given, at)
        const { client, site_id, options } = revoker
        const answer = await confirmRemoval(given, at, {
          act: `revoke the token ${token_id} at ${site_id}`,
          plan: { action: 'tokens revoke', token_id, site_id },
        })
        if (answer !== undefined) return answer
        const reason = given.text('reason')
        return printTokenRevocation(
          revoker,
          at,
          await client.revokeTokenById({ site_id, token_id, reason }, options),
        )
      },
    },
  },
}
