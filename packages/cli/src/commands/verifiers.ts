import type { Client } from '@countersign/sdk'
import { CommandError, type ExitCode, type Given, type Verb } from '../command.ts'
import { omitUndefined, parseOneOf, REASON_OPTION } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { findListed, PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { shortInstance } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts, type Terminal, visible } from '../terminal/output.ts'

const DAY_MS = 86_400_000

export const verifiers: Verb = {
  options: [
    ['--state <state>', 'connected, silent, gone or retired; gone and retired go back 30 days'],
    ['--instance <id>', 'print everything about one instance'],
    ...PAGE_OPTIONS,
    [
      '--dismiss <instance>',
      'retire an instance that is gone; the first characters of its id are enough. If it fails open, make sure first that its process has ended',
    ],
    REASON_OPTION,
  ],
  shares: ['site', 'service', 'removal'],
  examples: [
    ['countersign verifiers --site shop.example', 'list the verifiers of the site and their lag'],
    ['countersign verifiers --state gone', 'list those that disappeared within the last 30 days'],
    ['countersign verifiers --dismiss 5e1f20c3 --yes', 'stop counting this instance in receipts'],
  ],
  about: [
    'Lists the verifiers that are connected, and those that receipts still expect. Each guard process is an instance; replicas may share a name. The column bound shows how long an instance accepts credentials without a newer signed head. A silent instance is connected but has acknowledged nothing for 15 seconds. Rows without an instance are other clients of the feed.',
    'An instance that disconnected without guard.close() is gone. With a configured name it is listed for 24 hours; the column bound then shows since when it rejects everything. One that fails open may still accept credentials, so receipts have no denied_everywhere_at until you dismiss it. A guard that closes is retired at once.',
  ],
  async run(given, at) {
    const state = parseOneOf(given, 'state', ['connected', 'silent', 'gone', 'retired'])
    const { client, site_id } = await connectSite(given, at)
    const instance_id = given.text('instance')
    if (instance_id !== undefined) {
      const verifier = await client.readVerifier({ site_id, instance_id })
      at.result(verifier, () => facts(Object.entries(verifier)))
      return 0
    }
    const start = given.text('dismiss')
    if (start !== undefined) return dismiss(given, at, client, site_id, start)
    const nowMs = Date.now()
    return printList(
      given,
      at,
      'verifiers',
      (part) => client.listVerifiers({ site_id, ...omitUndefined({ state }), ...part }),
      {
        verifier: (each) => (each.verifier_id === each.instance_id ? '-' : each.verifier_id),
        instance: (each) => shortInstance(each.instance_id),
        state: 'state',
        applied: 'seq',
        lag: 'lag',
        bound: (each) => boundText(each, nowMs),
        heard: ({ acknowledged_at: at }) =>
          at === null ? null : `${Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000))} s ago`,
      },
    )
  },
}

interface Bounded {
  readonly fails_open: boolean
  readonly max_staleness_seconds: number | null
  readonly rejects_everything_since: string | null
}

/** How long an instance may accept without a newer head, or since when it rejects everything. */
function boundText(
  { fails_open, max_staleness_seconds: seconds, rejects_everything_since: since }: Bounded,
  nowMs: number,
): string | null {
  if (since !== null) {
    const isToday = nowMs - Date.parse(since) < DAY_MS
    const time = isToday ? since.replace(/^.*T|\.\d+/g, '') : since.slice(0, 10)
    return `rejects ${Date.parse(since) > nowMs ? 'from' : 'since'} ${time}`
  }
  if (fails_open) return 'fails open'
  return seconds === null ? null : `${seconds} s`
}

async function dismiss(
  given: Given,
  at: Terminal,
  client: Client,
  site_id: string,
  start: string,
): Promise<ExitCode> {
  const isIt = ({ instance_id }: { readonly instance_id: string | null }) =>
    start !== '' && instance_id?.startsWith(start) === true
  const connected = await findListed((part) => client.listVerifiers({ site_id, ...part }), isIt)
  if (connected !== undefined && (connected.state === 'connected' || connected.state === 'silent'))
    throw new CommandError(
      'verifier_active',
      `The instance ${connected.instance_id} is connected, so it cannot be dismissed. Close its guard with guard.close(), or end its process first.`,
    )
  const found = await requireListed(
    (part) => client.listVerifiers({ site_id, state: 'gone', ...part }),
    'instance: only one that is gone can be dismissed',
    isIt,
  )
  const target = { site_id, instance_id: String(found.instance_id) }
  const removal = {
    act: `dismiss the verifier ${visible(found.verifier_id)}, instance ${target.instance_id}`,
    plan: { action: 'verifiers dismiss', ...target },
  }
  const answer = await confirmRemoval(given, at, removal)
  if (answer !== undefined) return answer
  await client.dismissVerifier({ ...target, reason: given.text('reason') })
  at.result({ instance_id: target.instance_id, dismissed: true }, () => `Dismissed ${target.instance_id}.`)
  return 0
}
