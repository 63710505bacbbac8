import { UsageError, type Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { connect, requireSite } from '../service/connection.ts'

export const offer: Verb = {
  shares: ['site', 'service'],
  options: [
    ['--user-ref <text>', 'your own name of the user; it is not kept'],
    ['--ppid <ppid>', 'the user’s name at the site, in place of --user-ref'],
    ['--scope <scope>', 'what it will allow; may be repeated', 'list'],
    ['--permission-id <id>', 'a label of the site’s own'],
    ['--ttl-seconds <n>', 'how long the credential will live; default: 30 days'],
  ],
  examples: [
    [
      'countersign offer --user-ref alice --scope orders:read',
      'a link to send to alice, good for 15 minutes and one use',
    ],
  ],
  about: [
    'The wallet page of the service claims the credential and binds it to a key that never leaves the browser.',
  ],
  async run(given, at) {
    const scope = parseScopes(given)
    const [userRef, ppid] = [given.text('user-ref'), given.text('ppid')]
    if (scope === undefined) throw new UsageError('What will it allow? Give --scope, once for each.')
    if ((userRef === undefined) === (ppid === undefined))
      throw new UsageError('Give either --user-ref or --ppid.')
    const { client, siteId } = await connect(given, at)
    const made = await client.createOffer({
      site_id: requireSite({ siteId }),
      ...(userRef === undefined ? { ppid: ppid ?? '' } : { user_ref: userRef }),
      scope,
      permission_id: given.text('permission-id'),
      ttl_seconds: given.integer('ttl-seconds', { min: 1, max: 366 * 86_400 }),
    })
    at.result(made, () => made.offer_url)
    at.note(`Good for ${made.expires_in / 60} minutes, once. The first person who accepts it has it.`)
    return 0
  },
}
