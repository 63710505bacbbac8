import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@countersign/sdk'
import { CommandError, type Verb } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import { receiptText } from '../service/receipt-text.ts'
import { facts, type Terminal } from '../terminal/output.ts'

/** A drill ends after 30 seconds, and its report is written a little later. */
const WAIT_MS_MAX = 60_000
const LOOK_MS = 250

type Drill = Awaited<ReturnType<Client['readDrill']>>

export const drill: Verb = {
  options: [
    ['--list', 'list earlier drills, newest first, instead of starting one'],
    ['--reason <text>', 'why, for the audit'],
    ...PAGE_OPTIONS,
  ],
  shares: ['site', 'service'],
  examples: [
    ['countersign drill --site shop.example', 'measure how fast a revocation reaches every verifier'],
    ['countersign drill --json > drill.json', 'save the signed report, for verify-receipt'],
    ['countersign drill --list', 'list earlier drills'],
  ],
  about: [
    'Revokes an id that no credential has, so no user loses access. Waits until every verifier has applied the entry, at most 30 seconds. Webhooks receive the entry; its credential_id begins with cred_drill_. The exit code is 3 when a verifier has not applied it in time, or there is none.',
  ],
  async run(given, at) {
    const { client, site_id } = await connectSite(given, at)
    if (given.has('list'))
      return printList(given, at, 'drills', (part) => client.listDrills({ site_id, ...part }), {
        drill: 'drill_id',
        started: 'started_at',
        state: 'state',
        'applied by': ({ expected, acknowledged }) =>
          expected === null ? null : `${acknowledged} of ${expected}`,
        'last after': ({ elapsed_ms }) => (elapsed_ms === null ? null : `${elapsed_ms} ms`),
      })
    const { drill_id } = await client.startDrill({
      site_id,
      ...omitUndefined({ reason: given.text('reason') }),
    })
    const report = await waitForReport(client, { site_id, drill_id }, at)
    at.result(report, () =>
      [
        facts([
          ['drill', drill_id],
          ['outcome', report.outcome],
        ]),
        receiptText(report.receipt),
      ].join('\n\n'),
    )
    const isShown = report.receipt.expected > 0
    if (!isShown) at.note('No verifier follows the site, so this drill shows nothing.')
    return report.outcome === 'complete' && isShown ? 0 : 3
  },
}

async function waitForReport(
  client: Client,
  name: { readonly site_id: string; readonly drill_id: string },
  at: Terminal,
): Promise<NonNullable<Drill['report']>> {
  const endMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const { report } = await client.readDrill(name)
    if (report !== null) {
      at.progress(undefined)
      return report
    }
    if (performance.now() >= endMs)
      throw new CommandError(
        'drill_running',
        `The drill ${name.drill_id} has no report yet. Look again later: countersign drill --list`,
      )
    at.progress('waiting for every verifier to apply the entry')
    await sleep(LOOK_MS)
  }
}
