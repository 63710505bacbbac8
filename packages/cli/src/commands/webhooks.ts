import type { Client } from '@countersign/sdk/client'
import { type Given, type Group, UsageError } from '../command.ts'
import { omitUndefined, REASON_OPTION } from '../input/option-values.ts'
import { parseScopes } from '../input/scopes.ts'
import { parseTimeOption } from '../input/times.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts, type Terminal, table } from '../terminal/output.ts'
import { printNewSecret } from '../terminal/private-file.ts'

export const webhooks: Group = {
  verbs: {
    list: {
      summary: 'list the webhooks of a site',
      options: PAGE_OPTIONS,
      shares: ['site', 'service'],
      examples: [['countersign webhooks list --site shop.example', 'list the URLs that receive log entries']],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        return printList(given, at, 'webhooks', (part) => client.listWebhooks({ site_id, ...part }), {
          webhook: 'webhook_id',
          status: 'status',
          url: 'url',
          kinds: ({ kinds }) => kinds?.join(' ') ?? 'all',
          created: 'created_at',
        })
      },
    },
    show: {
      summary: 'show a webhook',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      shares: ['site', 'service'],
      examples: [['countersign webhooks show wh_01k…', 'show its URL, kinds and status']],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const hook = await requireListed(
          (part) => client.listWebhooks({ site_id, ...part }),
          'webhook',
          ({ webhook_id }) => webhook_id === given.word(0),
        )
        at.result(hook, () => facts(Object.entries({ ...hook, kinds: hook.kinds ?? 'all' })))
        return 0
      },
    },
    create: {
      summary: 'send log entries to a URL; the secret is shown once',
      words: [['<url>', 'https on port 443 or 8443, at a public address']],
      options: [
        ['--kinds <kinds>', 'only these kinds, such as user.revoked; may be repeated; default: all', 'list'],
        ['--out <file>', 'write the secret to a new file that only you can read'],
        REASON_OPTION,
      ],
      shares: ['site', 'service'],
      examples: [
        [
          'countersign webhooks create https://hooks.example/countersign --kinds user.revoked --out webhook.secret',
          'send only revocations of users',
        ],
      ],
      about: ['To receive them on this machine while developing: countersign listen'],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const kinds = parseScopes(given, 'kinds')
        const order = {
          site_id,
          url: given.word(0),
          ...(kinds && { kinds: kinds as never }),
          reason: given.text('reason'),
        }
        const { webhook_id } = await printNewSecret(
          given,
          at,
          () => client.createWebhook(order),
          (made) => ({
            whole: made,
            secret: made.secret,
            rest: { webhook_id: made.webhook_id },
            id: made.webhook_id,
          }),
        )
        if (!at.isJson) at.note(`Webhook ${webhook_id}. The secret is shown only now.`)
        return 0
      },
    },
    change: {
      summary: 'change the URL or the kinds of a webhook',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      options: [
        ['--to <url>', 'send to this URL from now on, pending deliveries too'],
        ['--kinds <kinds>', 'only these kinds from now on; may be repeated; all: all kinds', 'list'],
        REASON_OPTION,
      ],
      shares: ['site', 'service'],
      examples: [
        ['countersign webhooks change wh_01k… --to https://hooks.example/new', 'move it to another receiver'],
        ['countersign webhooks change wh_01k… --kinds all', 'send all kinds of entries'],
      ],
      async run(given, at) {
        const kinds = parseScopes(given, 'kinds')
        const url = given.text('to')
        if (kinds === undefined && url === undefined) throw new UsageError('Give --to, --kinds, or both.')
        return changeWebhook(given, at, {
          ...omitUndefined({ url }),
          ...(kinds && { kinds: kinds.length === 1 && kinds[0] === 'all' ? null : (kinds as never) }),
        })
      },
    },
    pause: {
      summary: 'send nothing to a webhook until it is resumed',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      options: [REASON_OPTION],
      shares: ['site', 'service'],
      examples: [['countersign webhooks pause wh_01k… --reason maintenance', 'while its receiver is down']],
      about: ['Entries wait in the log, as long as it keeps them: see log_kept_days.'],
      run: (given, at) => changeWebhook(given, at, { status: 'paused' }),
    },
    resume: {
      summary: 'send to a paused or disabled webhook again',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      options: [REASON_OPTION],
      shares: ['site', 'service'],
      examples: [['countersign webhooks resume wh_01k…', 'continue where it stopped']],
      about: ['Deliveries that failed before stay failed. To send them again: countersign webhooks recover'],
      run: (given, at) => changeWebhook(given, at, { status: 'on' }),
    },
    test: {
      summary: 'send a signed test to a webhook, and show how its receiver answers',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      shares: ['site', 'service'],
      examples: [['countersign webhooks test wh_01k…', 'before you resume it']],
      about: [
        'The message has the type webhook.test. It is also sent to a paused or disabled webhook.',
        'The exit code is 3 when the receiver does not answer with 2xx.',
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const tested = await client.testWebhook({ site_id, webhook_id: given.word(0) })
        at.result(tested, () => describeTest(tested))
        return tested.failure === null ? 0 : 3
      },
    },
    recover: {
      summary: 'send the deliveries since a time again',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      options: [
        ['--since <time>', 'deliveries that were created at this time or later'],
        ['--all', 'also those that were delivered; default: only failed ones'],
        ['--cursor <text>', 'continue a previous recovery'],
        REASON_OPTION,
      ],
      shares: ['site', 'service'],
      examples: [
        ['countersign webhooks recover wh_01k… --since 2026-11-14T12:00:00Z', 'after its receiver was down'],
      ],
      about: ['Sends 500 at a time, and the command says how to go on. At most 1,000 can be waiting.'],
      async run(given, at) {
        const ms = parseTimeOption(given.text('since'), '--since')
        if (ms === undefined) throw new UsageError('Missing --since.')
        const { client, site_id } = await connectSite(given, at)
        const recovered = await client.recoverWebhook({
          site_id,
          webhook_id: given.word(0),
          since: new Date(ms).toISOString(),
          deliveries: given.has('all') ? 'all' : 'failed',
          ...omitUndefined({ cursor: given.text('cursor'), reason: given.text('reason') }),
        })
        at.result(recovered, () => `${recovered.recovered} deliveries are pending again.`)
        if (recovered.next_cursor !== null && !at.isJson)
          at.note(`There are more. When these were sent, add --cursor ${recovered.next_cursor}`)
        return 0
      },
    },
    delete: {
      summary: 'delete a webhook',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      options: [REASON_OPTION],
      shares: ['site', 'service', 'removal'],
      examples: [
        ['countersign webhooks delete wh_01k… --yes', 'delete it; pending deliveries are not sent any more'],
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const target = { site_id, webhook_id: given.word(0) }
        const removal = {
          act: `delete the webhook ${target.webhook_id}`,
          plan: { action: 'webhooks delete', ...target },
        }
        const answer = await confirmRemoval(given, at, removal)
        if (answer !== undefined) return answer
        await client.deleteWebhook({ ...target, reason: given.text('reason') })
        at.result({ webhook_id: target.webhook_id, deleted: true }, () => `Deleted ${target.webhook_id}.`)
        return 0
      },
    },
    'rotate-secret': {
      summary: 'create a new secret for a webhook; it is shown once',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      options: [['--out <file>', 'write the secret to a new file that only you can read']],
      shares: ['site', 'service'],
      examples: [
        [
          'countersign webhooks rotate-secret wh_01k… --out webhook.secret',
          'rotate it; for one day deliveries carry signatures of both secrets',
        ],
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const made = await printNewSecret(
          given,
          at,
          () => client.rotateWebhookSecret({ site_id, webhook_id: given.word(0) }),
          (rotated) => {
            const { secret, ...rest } = rotated
            return { whole: rotated, secret, rest, id: rest.webhook_id }
          },
        )
        if (!at.isJson)
          at.note(
            `The secret is shown only now. The previous one is valid until ${made.previous_valid_until}.`,
          )
        return 0
      },
    },
    delivery: {
      summary: 'show a delivery with its attempts',
      words: [['<delivery_id>', 'dlv_…, as webhooks deliveries prints it']],
      shares: ['site', 'service'],
      examples: [['countersign webhooks delivery dlv_01k…', 'when it was tried, and how that ended']],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const delivery = await client.readDelivery({ site_id, delivery_id: given.word(0) })
        const { attempt_history: history, ...rest } = delivery
        const attempts = history.map((each) => [each.at, each.status, each.ms, each.failure])
        at.result(delivery, () =>
          [facts(Object.entries(rest)), table(['at', 'status', 'ms', 'failure'], attempts)].join('\n\n'),
        )
        return 0
      },
    },
    deliveries: {
      summary: 'list the deliveries of a webhook, newest first',
      words: [['<webhook_id>', 'wh_…, as webhooks list prints it']],
      options: PAGE_OPTIONS,
      shares: ['site', 'service'],
      examples: [
        ['countersign webhooks deliveries wh_01k… --limit 20', 'list delivered, pending and failed ones'],
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const target = { site_id, webhook_id: given.word(0) }
        return printList(
          given,
          at,
          'deliveries',
          (part) => client.listDeliveries({ ...target, ...part }),
          {
            delivery: 'delivery_id',
            seq: 'seq',
            kind: 'kind',
            status: 'status',
            attempts: 'attempts',
            answer: 'last_status',
            'next attempt': 'next_attempt_at',
          },
          50,
        )
      },
    },
    replay: {
      summary: 'send a delivery again',
      words: [['<delivery_id>', 'dlv_…, as webhooks deliveries prints it']],
      shares: ['site', 'service'],
      examples: [['countersign webhooks replay dlv_01k…', 'send it again after you fixed the receiver']],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const delivery = await client.replayDelivery({
          site_id,
          delivery_id: given.word(0),
        })
        at.result(delivery, () => facts(Object.entries(delivery)))
        return 0
      },
    },
  },
}

function describeTest({ status_class, ms, failure }: Awaited<ReturnType<Client['testWebhook']>>): string {
  if (failure === 'no_answer')
    return 'No response. The log of the service has the reason; its operator can read it.'
  const answered = `The receiver answered with ${status_class} after ${ms} ms.`
  return failure === null ? answered : `${answered} It must answer with 2xx.`
}

type WebhookChange = Omit<Parameters<Client['changeWebhook']>[0], 'site_id' | 'webhook_id' | 'reason'>

async function changeWebhook(given: Given, at: Terminal, change: WebhookChange): Promise<0> {
  const { client, site_id } = await connectSite(given, at)
  const reason = given.text('reason')
  const hook = await client.changeWebhook({
    site_id,
    webhook_id: given.word(0),
    ...change,
    ...omitUndefined({ reason }),
  })
  at.result(hook, () => facts(Object.entries(hook)))
  return 0
}
