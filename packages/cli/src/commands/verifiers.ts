import type { Client } from '@countersign/sdk'
import type { ExitCode, Given, Verb } from '../command.ts'
import { REASON_OPTION } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { shortInstance } from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { type Terminal, visible } from '../terminal/output.ts'

export const verifiers: Verb = {
  options: [
    ...PAGE_OPTIONS,
    [
      '--dismiss <instance>',
      'dismiss an instance that fails open and whose process has ended; the first characters of its id are enough',
    ],
    REASON_OPTION,
  ],
  shares: ['site', 'service', 'removal'],
  examples: [
    ['countersign verifiers --site shop.example', 'list the verifiers of the site and their lag'],
    ['countersign verifiers --dismiss 5e1f20c3 --yes', 'stop counting this instance in receipts'],
  ],
  about: [
    'Each guard process is an instance; replicas may share a name. The column bound shows how long an instance accepts credentials without a newer signed head. A silent instance is connected but has acknowledged nothing for 15 seconds. Rows without an instance are other clients of the feed.',
    'An instance that fails open and disconnected without guard.close() is listed as not_connected: it may still accept credentials, so receipts have no denied_everywhere_at. Dismiss it when its process has ended.',
  ],
  async run(given, at) {
    const { client, site_id } = await connectSite(given, at)
    const start = given.text('dismiss')
    if (start !== undefined) return dismiss(given, at, client, site_id, start)
    const nowMs = Date.now()
    return printList(given, at, (part) => client.listVerifiers({ site_id, ...part }), {
      verifier: (each) => (each.verifier_id === each.instance_id ? '-' : each.verifier_id),
      instance: (each) => shortInstance(each.instance_id),
      state: 'state',
      applied: 'seq',
      lag: 'lag',
      bound: ({ fails_open, max_staleness_seconds: seconds }) =>
        fails_open ? 'fails open' : seconds === null ? null : `${seconds} s`,
      heard: ({ acknowledged_at: at }) =>
        at === null ? null : `${Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000))} s ago`,
    })
  },
}

async function dismiss(
  given: Given,
  at: Terminal,
  client: Client,
  site_id: string,
  start: string,
): Promise<ExitCode> {
  const found = await requireListed(
    (part) => client.listVerifiers({ site_id, ...part }),
    'instance: only one that fails open and is not connected can be dismissed',
    ({ state, instance_id }) =>
      start !== '' && state === 'not_connected' && instance_id?.startsWith(start) === true,
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
