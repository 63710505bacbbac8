import type { Verb } from '../command.ts'
import { readToken } from '../input/token.ts'
import { connect } from '../service/connection.ts'
import { facts } from '../terminal/output.ts'

export const introspect: Verb = {
  words: [['[file]', 'a file with the token, or with the JSON of exchange; default: standard input']],
  shares: ['site', 'service'],
  examples: [
    ['countersign introspect < token', 'print whether it is active, and its user'],
    ['countersign exchange --json | countersign introspect', 'introspect a new token'],
  ],
  about: [
    'Needs a key with tokens:introspect. A token that is unknown, expired, revoked or of another site is only reported as not active; the exit code is 3 then.',
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
