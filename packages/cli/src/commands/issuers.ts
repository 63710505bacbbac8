import { type Given, type Group, type Option, UsageError } from '../command.ts'
import { requireOneOf, toClearedMembers } from '../input/option-values.ts'
import { parseScopes } from '../input/scopes.ts'
import { connect, requireSite } from '../service/connection.ts'
import { loadPages, PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts, table } from '../terminal/output.ts'

const MEMBERS: readonly Option[] = [
  [
    '--keys <multikey>',
    'pins a key, z6Mk…, so that nothing is fetched; for did:web only; may be repeated; replaces all',
    'list',
  ],
  ['--scope <scope>', 'the most that it may grant; may be repeated; default: no cap', 'list'],
  ['--credential-ttl-seconds-max <n>', 'the longest life that it may give'],
  ['--label <text>', 'for people'],
]

interface Issuer {
  readonly issuer: string
  readonly status: string
  readonly scope: readonly string[] | null
  readonly credential_ttl_seconds_max: number | null
  readonly label: string | null
  readonly created_at: string
  readonly keys: readonly {
    readonly id: string
    readonly key: string
    readonly status: string
    readonly retired_at?: string | undefined
  }[]
}

function issuerText({ keys, ...issuer }: Issuer): string {
  const rows = keys.map(({ id, status, retired_at, key }) => [id, status, retired_at, key])
  return `${facts(Object.entries(issuer))}\n\n${table(['key', 'status', 'retired', 'multikey'], rows)}`
}

export const issuers: Group = {
  verbs: {
    list: {
      summary: 'list the issuers of a site',
      options: PAGE_OPTIONS,
      shares: ['site', 'service'],
      examples: [
        ['countersign issuers list --site shop.example', 'the issuers that the site trusts, or has trusted'],
      ],
      async run(given, at) {
        const { client, siteId } = await connect(given, at)
        const site_id = requireSite({ siteId })
        const page = await loadPages(given, (part) => client.listIssuers({ site_id, ...part }))
        return printList(
          at,
          page,
          ['issuer', 'status', 'keys', 'scope', 'label'],
          ({ issuer, status, keys, scope, label }) => [issuer, status, keys.length, scope?.join(' '), label],
        )
      },
    },
    show: {
      summary: 'show an issuer with its keys',
      words: [['<issuer>', 'its DID']],
      shares: ['site', 'service'],
      examples: [['countersign issuers show did:web:issuer.example', 'its keys, its cap, its status']],
      async run(given, at) {
        const { client, siteId } = await connect(given, at)
        const site_id = requireSite({ siteId })
        const issuer = await requireListed(
          (part) => client.listIssuers({ site_id, ...part }),
          'issuer',
          (each) => each.issuer === given.word(0),
        )
        at.result(issuer, () => issuerText(issuer))
        return 0
      },
    },
    add: {
      summary: 'trust an issuer',
      words: [['<issuer>', 'its DID: did:web, did:key or did:jwk']],
      options: MEMBERS,
      shares: ['site', 'service'],
      examples: [
        [
          'countersign issuers add did:web:issuer.example --scope orders:read',
          'up to orders:read; its keys are fetched and refreshed',
        ],
        ['countersign issuers add did:key:z6Mk… --label "our signer"', 'one key, no cap'],
      ],
      async run(given, at) {
        const members = toMembers(given)
        const { client, siteId } = await connect(given, at)
        const issuer = await client.addIssuer({
          site_id: requireSite({ siteId }),
          issuer: given.word(0),
          ...members,
        })
        at.result(issuer, () => issuerText(issuer))
        return 0
      },
    },
    change: {
      summary: 'change or distrust an issuer; what is not named stays',
      words: [['<issuer>', 'its DID']],
      options: [
        ['--status <status>', 'trusted or distrusted'],
        ...MEMBERS,
        ['--clear <member>', 'clear scope, credential_ttl_seconds_max or label; repeatable', 'list'],
      ],
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign issuers change did:web:issuer.example --status distrusted',
          'nothing that it signed is valid any more',
        ],
        ['countersign issuers change did:web:issuer.example --clear scope', 'lifts the cap'],
      ],
      about: ['Distrusting an issuer, and lowering its cap, revoke access, so they need a confirmation.'],
      async run(given, at) {
        const status = given.text('status')
        const members = {
          ...(status === undefined
            ? {}
            : { status: requireOneOf('status', status, ['trusted', 'distrusted'] as const) }),
          ...toMembers(given),
          ...toClearedMembers(given, ['scope', 'credential_ttl_seconds_max', 'label']),
        }
        if (Object.keys(members).length === 0)
          throw new UsageError('What shall change? See countersign issuers change --help')
        const { client, siteId } = await connect(given, at)
        const target = { site_id: requireSite({ siteId }), issuer: given.word(0) }
        const takes = [
          members.status === 'distrusted' &&
            `distrust ${target.issuer} at ${target.site_id}, with all that it signed`,
          Array.isArray(members.scope) &&
            `let ${target.issuer} grant no more than ${members.scope.join(' ')} at ${target.site_id}`,
        ].filter((words) => words !== false)
        if (takes.length > 0 || given.has('dry-run')) {
          const act =
            takes.length > 0
              ? takes.join(' and ')
              : `change ${Object.keys(members).join(', ')} of ${target.issuer}`
          const answer = await confirmRemoval(given, at, {
            act,
            plan: { action: 'issuers change', ...target, ...members },
          })
          if (answer !== undefined) return answer
        }
        const issuer = await client.changeIssuer({ ...target, ...members })
        at.result(issuer, () => issuerText(issuer))
        return 0
      },
    },
    'change-key': {
      summary: 'retire or reactivate a key of an issuer, or mark it as compromised',
      words: [
        ['<issuer>', 'its DID'],
        ['<key>', 'the fragment of its verificationMethod'],
      ],
      options: [['--status <status>', 'active, retired, or compromised, which is permanent']],
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign issuers change-key did:web:issuer.example key-1 --status retired',
          'what it signed before stays valid',
        ],
        [
          'countersign issuers change-key did:web:issuer.example key-1 --status compromised',
          'nothing that it ever signed is valid',
        ],
      ],
      async run(given, at) {
        const status = requireOneOf('status', given.text('status') ?? '', [
          'active',
          'retired',
          'compromised',
        ] as const)
        const { client, siteId } = await connect(given, at)
        const target = { site_id: requireSite({ siteId }), issuer: given.word(0), key: given.word(1) }
        if (status !== 'active' || given.has('dry-run')) {
          const act = `set the key ${target.key} of ${target.issuer} to ${status}${status === 'compromised' ? ', permanently' : ''}`
          const answer = await confirmRemoval(given, at, {
            act,
            plan: { action: 'issuers change-key', ...target, status },
          })
          if (answer !== undefined) return answer
        }
        const issuer = await client.changeIssuerKey({ ...target, status })
        at.result(issuer, () => issuerText(issuer))
        return 0
      },
    },
  },
}

function toMembers(given: Given) {
  const [keys, scope, label] = [given.list('keys'), parseScopes(given), given.text('label')]
  const ttl = given.integer('credential-ttl-seconds-max', { min: 1, max: 366 * 86_400 })
  return {
    ...(keys.length === 0 ? {} : { keys: [...keys] }),
    ...(scope === undefined ? {} : { scope }),
    ...(ttl === undefined ? {} : { credential_ttl_seconds_max: ttl }),
    ...(label === undefined ? {} : { label }),
  }
}
