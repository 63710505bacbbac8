import type { Group } from '../command.ts'
import { REASON_OPTION } from '../input/option-values.ts'
import { parseScopes } from '../input/scopes.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts } from '../terminal/output.ts'
import { printSecret } from '../terminal/private-file.ts'

export const webhooks: Group = {
  verbs: {
    list: {
      summary: 'list the webhooks of a site',
      options: PAGE_OPTIONS,
      shares: ['site', 'service'],
      examples: [['countersign webhooks list --site shop.example', 'list the URLs that receive log entries']],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        return printList(given, at, (part) => client.listWebhooks({ site_id, ...part }), {
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
        at.result(hook, () => facts(Object.entries(hook)))
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
        const made = await client.createWebhook({
          site_id,
          url: given.word(0),
          ...(kinds && { kinds: kinds as never }),
          reason: given.text('reason'),
        })
        const { webhook_id, secret } = made
        printSecret(given, at, { whole: made, secret, rest: { webhook_id }, id: webhook_id })
        if (!at.isJson) at.note(`Webhook ${webhook_id}. The secret is shown only now.`)
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
        const made = await client.rotateWebhookSecret({
          site_id,
          webhook_id: given.word(0),
        })
        const { secret, ...rest } = made
        printSecret(given, at, { whole: made, secret, rest, id: made.webhook_id })
        if (!at.isJson)
          at.note(
            `The secret is shown only now. The previous one is valid until ${made.previous_valid_until}.`,
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
