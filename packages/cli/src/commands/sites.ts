import { type Given, type Group, type Option, UsageError } from '../command.ts'
import { omitUndefined, parseOneOf, REASON_OPTION, toClearedMembers } from '../input/option-values.ts'
import { connect, connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'
import {
  isAcknowledged,
  listReceiptFacts,
  parseWaitSeconds,
  REVOCATION_OPTIONS,
} from '../service/propagation.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts } from '../terminal/output.ts'

const TTL_MAX = 366 * 86_400

const MEMBERS: readonly Option[] = [
  ['--name <text>', 'a name for people'],
  ['--return-urls <url>', 'where a hosted sign-in may return to; may be repeated; replaces all', 'list'],
  [
    '--hosts <host>',
    'a host that clients use behind forward-auth, with its port unless it is 80 or 443; may be repeated; replaces all',
    'list',
  ],
  ['--bearer <mode>', 'on or off: whether bearer tokens are accepted'],
  ['--holder-proof <mode>', 'optional or required: whether every request needs a holder proof'],
  ['--delegation <mode>', 'on or off: whether delegated credentials are accepted'],
  ['--credential-ttl-seconds-max <n>', 'the longest lifetime of a credential at this site'],
  [
    '--max-staleness-seconds-max <n>',
    'the longest that a guard accepts without a newer signed head, 5 to 3600',
  ],
]

/** How hosted pages look. Without them they have the look of the service. */
const LOOK: readonly Option[] = [
  ['--logo-url <url>', 'where the service fetches the logo now; the same URL again fetches it again'],
  ['--accent <colour>', 'the colour of the main button on hosted pages, such as #0a6448'],
  ['--support-url <url>', 'where users get help: https, or mailto: with one address'],
  ['--privacy-url <url>', 'the privacy notice of the site'],
]

const CLEARABLE = [
  'name',
  'hosts',
  'credential_ttl_seconds_max',
  'logo_url',
  'accent',
  'support_url',
  'privacy_url',
] as const

const siteText = (site: object) => facts(Object.entries(site))

export const sites: Group = {
  verbs: {
    list: {
      summary: 'list all sites, or with a key of a site only that one',
      options: PAGE_OPTIONS,
      shares: ['service'],
      examples: [['countersign sites list', 'list all sites, with an operator key']],
      async run(given, at) {
        const { client } = await connect(given, at, 'operator')
        return printList(given, at, 'sites', (part) => client.listSites(part), {
          site: 'site_id',
          name: 'name',
          bearer: 'bearer',
          'holder proof': 'holder_proof',
          created: 'created_at',
        })
      },
    },
    show: {
      summary: 'show a site',
      words: [['[site_id]', 'the site; default: that of --site']],
      shares: ['site', 'service'],
      examples: [['countersign sites show shop.example', 'show all settings']],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at, given.words[0])
        const site = await client.readSite({ site_id })
        at.result(site, () => siteText(site))
        return 0
      },
    },
    create: {
      summary: 'create a site; needs an operator key',
      words: [['<site_id>', 'a lower-case host name, such as shop.example']],
      options: [...MEMBERS, ...LOOK, REASON_OPTION],
      shares: ['service'],
      examples: [
        [
          'countersign sites create shop.example --name Shop --return-urls https://shop.example/back',
          'then: issuers add, keys create',
        ],
      ],
      async run(given, at) {
        const { client } = await connect(given, at, 'operator')
        const members = { ...toMembers(given), ...toLook(given), reason: given.text('reason') }
        const site = await client.createSite({ site_id: given.word(0), ...members })
        at.result(site, () => siteText(site))
        at.note(
          `Next: countersign keys create --site ${site.site_id} --permissions credentials:issue,credentials:revoke,feed:read`,
        )
        return 0
      },
    },
    change: {
      summary: 'change a site; the rest stays as it is',
      words: [['[site_id]', 'the site; default: that of --site']],
      options: [
        ...MEMBERS,
        ...LOOK,
        ['--clear <member>', `clear ${CLEARABLE.slice(0, -1).join(', ')} or privacy_url; repeatable`, 'list'],
        ...REVOCATION_OPTIONS,
      ],
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign sites change shop.example --bearer off',
          'stop accepting bearer tokens; existing ones end immediately',
        ],
        [
          'countersign sites change shop.example --hosts shop.example --hosts api.shop.example',
          'use both names behind forward-auth',
        ],
        [
          'countersign sites change shop.example --delegation off --reason breach --wait',
          'reject delegated credentials, and wait for the verifiers',
        ],
        [
          'countersign sites change shop.example --logo-url https://shop.example/logo.png --accent "#0a6448"',
          'give sign-in and wallet pages the look of the site',
        ],
        ['countersign sites change shop.example --clear name', 'remove the name'],
      ],
      about: [
        'Switching bearer tokens or delegation off and requiring holder proofs revoke access, so they need a confirmation.',
      ],
      async run(given, at) {
        const members = {
          ...toMembers(given),
          ...toLook(given),
          ...toClearedMembers(given, CLEARABLE),
        }
        if (Object.keys(members).length === 0)
          throw new UsageError('Nothing to change. Give an option; see countersign sites change --help')
        const waitSeconds = parseWaitSeconds(given)
        const { client, site_id } = await connectSite(given, at, given.words[0])
        const takes = [
          members.bearer === 'off' && 'end all bearer tokens',
          members.delegation === 'off' && 'reject delegated credentials',
          members.holder_proof === 'required' && 'reject bearer tokens and credentials without a holder key',
        ].filter((words) => words !== false)
        if (takes.length > 0 || given.has('dry-run')) {
          const act =
            takes.length > 0
              ? `${takes.join(' and ')} at ${site_id}`
              : `change ${Object.keys(members).join(', ')} of ${site_id}`
          const answer = await confirmRemoval(given, at, {
            act,
            plan: { action: 'sites change', site_id, ...members },
          })
          if (answer !== undefined) return answer
        }
        const order = { site_id, ...members, ...omitUndefined({ reason: given.text('reason') }) }
        const site = await client.changeSite(order, omitUndefined({ waitSeconds }))
        const { propagation, ...changed } = site
        at.result(site, () => facts([...Object.entries(changed), ...listReceiptFacts(propagation)]))
        return waitSeconds === undefined || isAcknowledged(propagation) ? 0 : 3
      },
    },
  },
}

function toLook(given: Given) {
  return omitUndefined({
    logo_url: given.text('logo-url'),
    accent: given.text('accent'),
    support_url: given.text('support-url'),
    privacy_url: given.text('privacy-url'),
  })
}

function toMembers(given: Given) {
  const [urls, hosts] = [given.list('return-urls'), given.list('hosts')]
  return omitUndefined({
    name: given.text('name'),
    return_urls: urls.length === 0 ? undefined : [...urls],
    hosts: hosts.length === 0 ? undefined : [...hosts],
    bearer: parseOneOf(given, 'bearer', ['on', 'off']),
    holder_proof: parseOneOf(given, 'holder-proof', ['optional', 'required']),
    delegation: parseOneOf(given, 'delegation', ['on', 'off']),
    credential_ttl_seconds_max: given.integer('credential-ttl-seconds-max', { min: 1, max: TTL_MAX }),
    max_staleness_seconds_max: given.integer('max-staleness-seconds-max', { min: 5, max: 3600 }),
  })
}
