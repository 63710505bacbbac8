import type { AuditExport } from '@countersign/sdk/client'
import { type Given, UsageError, type Verb } from '../command.ts'
import { omitUndefined, parseOneOf } from '../input/option-values.ts'
import { parseTimeOption } from '../input/times.ts'
import { connect, requireSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'

const LIMIT_DEFAULT = 50
const EXPORT_ROWS_MAX = 100_000

export const audit: Verb = {
  options: [
    [
      '--actor <actor>',
      'only actions of this actor, such as api_key:key_01k…, or of a type, such as operator',
    ],
    ['--action <action>', 'only this action, such as user.revoke'],
    ['--target <id>', 'only actions with this target: a ppid, credential_id, issuer, key_id, …'],
    ['--outcome <outcome>', 'only actions with this outcome, such as unchanged'],
    ['--request-id <id>', 'only actions of this request'],
    ['--from <time>', 'only actions at this time or later'],
    ['--to <time>', 'only actions before this time'],
    ['--order <order>', 'newest (first) or oldest; default: newest'],
    ['--format <format>', 'write all rows to standard output as ndjson, csv or ocsf'],
    ['--all-sites', 'of all sites and of the service; needs an operator key'],
    ['--without-site', 'only actions that concern no site; needs an operator key'],
    ...PAGE_OPTIONS,
  ],
  shares: ['site', 'service'],
  examples: [
    ['countersign audit --limit 20', 'the last twenty actions, newest first'],
    ['countersign audit --target did:service:ppid_…', 'everything about one user'],
    ['countersign audit --all-sites --request-id 4f1c…', 'what one request did, at any site'],
    ['countersign audit --from 2026-11-01T00:00:00Z --format csv > november.csv', 'for a spreadsheet'],
    ['countersign audit --all-sites --format ocsf --order oldest > events.ndjson', 'for a SIEM'],
    ['countersign audit --limit 1000 --json', 'for a program'],
  ],
  about: [
    `Lists ${LIMIT_DEFAULT} actions by default, and with --format up to ${EXPORT_ROWS_MAX}. Without a running service: countersign operator-audit.`,
    'In CSV, text that a spreadsheet could run as a formula begins with an apostrophe.',
  ],
  async run(given, at) {
    const filter = readFilter(given)
    const format = parseOneOf(given, 'format', ['ndjson', 'csv', 'ocsf'])
    const isWide = given.has('all-sites') || given.has('without-site')
    const without_site = given.has('without-site') ? ('1' as const) : undefined
    const target = await connect(given, at, isWide ? 'operator' : 'site')
    const site = isWide ? undefined : requireSite(target)
    if (format !== undefined) {
      if (at.isJson || given.text('cursor') !== undefined)
        throw new UsageError('--format writes whole lists; do not give --json or --cursor')
      const { exportAudit } = await import('@countersign/sdk/client')
      const { baseUrl, apiKey } = target
      const rows = given.integer('limit', { min: 1, max: EXPORT_ROWS_MAX })
      const order = omitUndefined({ ...filter, site_id: site, without_site, rows })
      for await (const bytes of exportAudit({ baseUrl, ...omitUndefined({ apiKey }) }, { format, ...order }))
        at.raw(bytes)
      return 0
    }
    const { client } = target
    return printList(
      given,
      at,
      'audit rows',
      (part) =>
        site === undefined
          ? client.listServiceAudit({ ...omitUndefined({ ...filter, without_site }), ...part })
          : client.listAudit({ site_id: site, ...omitUndefined(filter), ...part }),
      {
        at: 'at',
        ...(isWide && { site: 'site_id' as const }),
        who: ({ actor }) => (actor.id === null ? actor.type : `${actor.type}:${actor.id}`),
        action: 'action',
        target: 'target',
        outcome: 'outcome',
        seq: 'seq',
        reason: 'reason',
      },
      LIMIT_DEFAULT,
    )
  },
}

function readFilter(given: Given) {
  const toTime = (flag: 'from' | 'to') => {
    const ms = parseTimeOption(given.text(flag), `--${flag}`)
    return ms === undefined ? undefined : new Date(ms).toISOString()
  }
  return {
    actor: given.text('actor'),
    action: given.text('action'),
    target: given.text('target'),
    outcome: given.text('outcome') as AuditExport['outcome'],
    request_id: given.text('request-id'),
    from: toTime('from'),
    to: toTime('to'),
    order: parseOneOf(given, 'order', ['newest', 'oldest']),
  }
}
