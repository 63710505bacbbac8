import type { Verb } from '../command.ts'
import { omitUndefined, parseOneOf } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { facts, table } from '../terminal/output.ts'

interface Bounded {
  readonly count: number
  readonly or_more: boolean
}

export const summary: Verb = {
  options: [['--window <window>', '1h, 24h or 30d; default: 24h']],
  shares: ['site', 'service'],
  examples: [
    ['countersign summary', 'decisions of the last day, the use of bearer tokens, and counts'],
    ['countersign summary --window 30d --json', 'for a program'],
  ],
  about: [
    'Counts the decisions of the service and of guards that report them. All counts may be some seconds old. The counts of a guard are its own statements. Times of a last use are the hour. It is safe to switch bearer tokens off when none was accepted and no credential exchanged for 14 days, none is live, and every verifier that follows the site reports its decisions. That is not known, so the answer is no, until decisions were counted for 14 days.',
  ],
  async run(given, at) {
    const window = parseOneOf(given, 'window', ['1h', '24h', '30d'])
    const { client, site_id } = await connectSite(given, at)
    const found = await client.readSummary({ site_id, ...omitUndefined({ window }) })
    const { verdicts, bearer, counts, verifiers } = found
    at.result(found, () =>
      [
        facts([
          ['from', found.from],
          ['decisions', `${verdicts.total}: ${verdicts.allowed} allowed, ${verdicts.denied} denied`],
          ['bearer tokens', bearer.mode],
          ['bearer share', bearer.share === null ? null : `${(bearer.share * 100).toFixed(1)} %`],
          ['used at', bearer.verifiers],
          [
            'live tokens',
            `${boundedText(bearer.live_tokens)}, of ${bearer.users_with_live_tokens.count} users`,
          ],
          ['last accepted', bearer.last_accepted_at],
          ['last exchange', bearer.last_exchange_at],
          ['counted since', bearer.observed_since],
          ['not reporting', bearer.verifiers_not_reporting],
          ['safe to switch off', bearer.safe_to_switch_off ? 'yes' : 'no'],
          ['credentials', `${boundedText(counts.active_credentials)} active`],
          ['revoked users', boundedText(counts.revoked_users)],
          [
            'open',
            `${boundedText(counts.open_sign_ins)} sign-ins, ${boundedText(counts.open_offers)} offers`,
          ],
        ]),
        table(
          ['presented', 'outcome', 'decisions'],
          verdicts.by.map(({ presented, outcome, count }) => [presented, outcome, count]),
        ),
        table(
          ['verifier', 'decisions', 'bearer', 'last'],
          verifiers.map(({ source, verifier_id, total, bearer: own, last_at }) => [
            verifier_id ?? (source === 'service' ? '(the service)' : '(others)'),
            total,
            own,
            last_at,
          ]),
        ),
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    )
    return 0
  },
}

function boundedText({ count, or_more }: Bounded): string {
  return or_more ? `${count} or more` : String(count)
}
