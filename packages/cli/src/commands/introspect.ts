import type { Verb } from '../command.ts'
import { readToken } from '../input/token.ts'
import { connect } from '../service/connection.ts'
import { facts } from '../terminal/output.ts'

export const introspect: Verb = {
  words: [['[file]', 'a file with the token, or with the answer of exchange; default: the standard input']],
  shares: ['site', 'service'],
  examples: [
    ['countersign introspect < token', 'whether it is active, and for which user'],
    ['countersign exchange --json | countersign introspect', 'of a token made just now'],
  ],
  about: [
    'Needs a key with tokens:introspect. Of a token that is unknown, expired, revoked or of another site, nothing is said but that it is not active. Ends with 3 then.',
  ],
  async run(given, at) {
    const token = await readToken(given.words[0])
    const { client } = await connect(given, at)
    const found = await client.introspect({ token, site_id: given.text('site') })
    const time = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
    at.result(found, () =>
      found.active
        ? facts([
            ['active', 'yes'],
            ['user', found.sub],
            ['site', found.site_id],
            ['scope', found.scopes],
            ['permission', found.permission_id],
            ['issued', time(found.iat)],
            ['expires', time(found.exp)],
            ['credentials', found.credential_chain],
            ['issuer', found.issuer],
            ['token', found.jti],
          ])
        : 'active  no',
    )
    return found.active ? 0 : 3
  },
}
