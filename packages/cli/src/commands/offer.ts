import { UsageError, type Verb } from '../command.ts'
import { parseScopes } from '../input/scopes.ts'
import { connectSite } from '../service/connection.ts'

export const offer: Verb = {
  shares: ['site', 'service'],
  options: [
    ['--user-ref <text>', 'your own name for the user; it is not stored'],
    ['--ppid <ppid>', 'the id of the user at the site, instead of --user-ref'],
    ['--scope <scope>', 'a scope to grant; may be repeated', 'list'],
    ['--permission-id <id>', 'a label that the site chooses'],
    ['--ttl-seconds <n>', 'the lifetime of the credential; default: 30 days'],
  ],
  examples: [
    [
      'countersign offer --user-ref alice --scope orders:read',
      'create a link for alice, valid for 15 minutes and one use',
    ],
  ],
  about: [
    'The wallet page of the service claims the credential and binds it to a key that stays in the browser.',
  ],
  async run(given, at) {
    const scope = parseScopes(given)
    const [userRef, ppid] = [given.text('user-ref'), given.text('ppid')]
    if (scope === undefined)
      throw new UsageError('Missing --scope. Give at least one, such as --scope orders:read')
    if ((userRef === undefined) === (ppid === undefined))
      throw new UsageError('Give either --user-ref or --ppid.')
    const { client, site_id } = await connectSite(given, at)
    const made = await client.createOffer({
      site_id,
      ...(userRef === undefined ? { ppid: ppid ?? '' } : { user_ref: userRef }),
      scope,
      permission_id: given.text('permission-id'),
      ttl_seconds: given.integer('ttl-seconds', { min: 1, max: 366 * 86_400 }),
    })
    at.result(made, () => made.offer_url)
    at.note(
      `The link is valid for ${made.expires_in / 60} minutes and one use. The first person who opens it can claim the credential.`,
    )
    return 0
  },
}
