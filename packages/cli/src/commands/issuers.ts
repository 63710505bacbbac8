import type { Client } from '@countersign/sdk'
import { type Given, type Group, type Option, UsageError } from '../command.ts'
import { OAUTH_OPTIONS, readOAuthMembers } from '../input/oauth-members.ts'
import {
  omitUndefined,
  parseOneOf,
  REASON_OPTION,
  requireOneOf,
  toClearedMembers,
} from '../input/option-values.ts'
import { parseScopes } from '../input/scopes.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList, requireListed } from '../service/paging.ts'
import { confirmRemoval } from '../terminal/confirm.ts'
import { facts, table } from '../terminal/output.ts'

const MEMBERS: readonly Option[] = [
  [
    '--keys <multikey>',
    'pin a key, z6Mk…, instead of fetching keys; for did:web only; may be repeated; replaces all',
    'list',
  ],
  ['--scope <scope>', 'the scope that it may grant at most; may be repeated; default: no limit', 'list'],
  ['--credential-ttl-seconds-max <n>', 'the longest lifetime that it may grant'],
  ['--label <text>', 'a label for people'],
]

function issuerText(issuer: Awaited<ReturnType<Client['addIssuer']>>): string {
  const { keys, ...rest } = issuer
  const signals = 'signals' in rest ? { signals: JSON.stringify(rest.signals) } : {}
  const shown = facts(Object.entries({ ...rest, ...signals }))
  if (issuer.type === 'oauth') {
    const rows = issuer.keys.map(({ id, kid, status, retired_at }) => [id, kid, status, retired_at])
    return `${shown}\n\n${table(['key', 'kid', 'status', 'retired'], rows)}`
  }
  const rows = issuer.keys.map(({ id, status, retired_at, key }) => [id, status, retired_at, key])
  return `${shown}\n\n${table(['key', 'status', 'retired', 'multikey'], rows)}`
}

/** The URL of an OAuth issuer cannot be part of a path, so its id is looked up. */
async function findIssuerForPath(client: Client, site_id: string, word: string): Promise<string> {
  if (!/^https?:/.test(word)) return word
  const found = await requireListed(
    (part) => client.listIssuers({ site_id, ...part }),
    'issuer',
    ({ issuer }) => issuer === word,
  )
  return found.issuer_id
}

const ISSUER_WORD = ['<issuer>', 'its DID, its URL or its issuer_id'] as const

export const issuers: Group = {
  verbs: {
    list: {
      summary: 'list the issuers of a site',
      options: PAGE_OPTIONS,
      shares: ['site', 'service'],
      examples: [
        [
          'countersign issuers list --site shop.example',
          'list the issuers that the site trusts or has trusted',
        ],
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        return printList(given, at, 'issuers', (part) => client.listIssuers({ site_id, ...part }), {
          issuer: 'issuer',
          status: 'status',
          keys: ({ keys }) => keys.length,
          scope: 'scope',
          label: 'label',
          type: 'type',
          issuer_id: 'issuer_id',
        })
      },
    },
    show: {
      summary: 'show an issuer with its keys',
      words: [ISSUER_WORD],
      shares: ['site', 'service'],
      examples: [
        ['countersign issuers show did:web:issuer.example', 'show its keys, its limits and its status'],
      ],
      async run(given, at) {
        const { client, site_id } = await connectSite(given, at)
        const name = await findIssuerForPath(client, site_id, given.word(0))
        const issuer = await client.getIssuer({ site_id, issuer: name })
        at.result(issuer, () => issuerText(issuer))
        return 0
      },
    },
    add: {
      summary: 'trust an issuer',
      words: [['<issuer>', 'its DID: did:web, did:key or did:jwk; with --oauth its URL']],
      options: [
        ...MEMBERS,
        ['--oauth', 'it signs access tokens (JWT), not credentials; the next options belong to it'],
        ...OAUTH_OPTIONS,
        REASON_OPTION,
      ],
      shares: ['site', 'service'],
      examples: [
        [
          'countersign issuers add did:web:issuer.example --scope orders:read',
          'trust it up to orders:read; the service fetches and refreshes its keys',
        ],
        ['countersign issuers add did:key:z6Mk… --label "our signer"', 'trust one key, without a limit'],
        [
          'countersign issuers add --oauth https://idp.example --audience https://api.shop.example',
          'trust its access tokens for this API; the service finds and refreshes its keys',
        ],
      ],
      async run(given, at) {
        const members = toMembers(given)
        const oauth = await readOAuthMembers(given)
        const issuer = given.word(0)
        const isOAuth = given.has('oauth')
        if (isOAuth !== /^https?:/.test(issuer))
          throw new UsageError('--oauth goes with the URL of an issuer, a DID without it')
        if (!isOAuth && Object.keys(oauth).length > 0)
          throw new UsageError(`${Object.keys(oauth).join(', ')}: only OAuth issuers have this; give --oauth`)
        if (isOAuth && oauth.audience === undefined)
          throw new UsageError('An OAuth issuer needs --audience: what aud of its tokens says')
        const { client, site_id } = await connectSite(given, at)
        const { audience = [] } = oauth
        const reason = given.text('reason')
        const added = await client.addIssuer(
          isOAuth
            ? { site_id, type: 'oauth', issuer, ...toOAuthCommon(members), ...oauth, audience, reason }
            : { site_id, issuer, ...members, reason },
        )
        at.result(added, () => issuerText(added))
        return 0
      },
    },
    change: {
      summary: 'change or distrust an issuer; the rest stays as it is',
      words: [ISSUER_WORD],
      options: [
        ['--status <status>', 'trusted or distrusted'],
        ...MEMBERS,
        ...OAUTH_OPTIONS,
        [
          '--confirm-new-ids',
          'change the ids of users or sessions, so that revoked ones have access again until you revoke them again',
        ],
        [
          '--clear <member>',
          'clear scope, credential_ttl_seconds_max, label, client_ids or session_claim; repeatable',
          'list',
        ],
        REASON_OPTION,
      ],
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign issuers change did:web:issuer.example --status distrusted --reason breach',
          'reject everything that it signed',
        ],
        ['countersign issuers change did:web:issuer.example --clear scope', 'remove the scope limit'],
      ],
      about: ['Distrusting an issuer and narrowing its scope revoke access, so they need a confirmation.'],
      async run(given, at) {
        const members = {
          ...omitUndefined({ status: parseOneOf(given, 'status', ['trusted', 'distrusted']) }),
          ...toMembers(given),
          ...(await readOAuthMembers(given)),
          ...toClearedMembers(given, [
            'scope',
            'credential_ttl_seconds_max',
            'label',
            'client_ids',
            'session_claim',
          ]),
        }
        if (Object.keys(members).length === 0)
          throw new UsageError('Nothing to change. Give an option; see countersign issuers change --help')
        const { client, site_id } = await connectSite(given, at)
        const target = { site_id, issuer: given.word(0) }
        const confirmed = given.has('confirm-new-ids') ? { confirm_new_ids: true as const } : {}
        const takes = [
          members.status === 'distrusted' &&
            `distrust ${target.issuer} at ${target.site_id} and reject all that it signed`,
          Array.isArray(members.scope) &&
            `limit ${target.issuer} to ${members.scope.join(' ')} at ${target.site_id}`,
        ].filter((words) => words !== false)
        if (takes.length > 0 || given.has('dry-run')) {
          const act =
            takes.length > 0
              ? takes.join(' and ')
              : `change ${Object.keys(members).join(', ')} of ${target.issuer}`
          const answer = await confirmRemoval(given, at, {
            act,
            plan: { action: 'issuers change', ...target, ...members, ...confirmed },
          })
          if (answer !== undefined) return answer
        }
        const path = await findIssuerForPath(client, site_id, target.issuer)
        const reason = given.text('reason')
        const order = { ...target, issuer: path, ...members, ...confirmed, reason }
        const issuer = await client.changeIssuer(order)
        at.result(issuer, () => issuerText(issuer))
        return 0
      },
    },
    'change-key': {
      summary: 'retire or reactivate a key of an issuer, or mark it as compromised',
      words: [
        ISSUER_WORD,
        ['<key>', 'the fragment of the verificationMethod, or the thumbprint of an OAuth key'],
      ],
      options: [['--status <status>', 'active, retired, or compromised, which is permanent'], REASON_OPTION],
      shares: ['site', 'service', 'removal'],
      examples: [
        [
          'countersign issuers change-key did:web:issuer.example key-1 --status retired',
          'retire it; what it signed before stays valid',
        ],
        [
          'countersign issuers change-key did:web:issuer.example key-1 --status compromised',
          'reject everything that it ever signed',
        ],
      ],
      async run(given, at) {
        const status = requireOneOf('status', given.text('status') ?? '', [
          'active',
          'retired',
          'compromised',
        ] as const)
        const { client, site_id } = await connectSite(given, at)
        const target = { site_id, issuer: given.word(0), key: given.word(1) }
        if (status !== 'active' || given.has('dry-run')) {
          const act = `set the key ${target.key} of ${target.issuer} to ${status}${status === 'compromised' ? ', permanently' : ''}`
          const answer = await confirmRemoval(given, at, {
            act,
            plan: { action: 'issuers change-key', ...target, status },
          })
          if (answer !== undefined) return answer
        }
        const path = await findIssuerForPath(client, site_id, target.issuer)
        const reason = given.text('reason')
        const issuer = await client.changeIssuerKey({ ...target, issuer: path, status, reason })
        at.result(issuer, () => issuerText(issuer))
        return 0
      },
    },
  },
}

/** Throws a `UsageError` for what only issuers of credentials have. */
function toOAuthCommon({ scope, label, ...others }: ReturnType<typeof toMembers>) {
  const [other] = Object.keys(others)
  if (other !== undefined) throw new UsageError(`${other}: only issuers of credentials have this`)
  return omitUndefined({ scope, label })
}

function toMembers(given: Given) {
  const keys = given.list('keys')
  return omitUndefined({
    keys: keys.length === 0 ? undefined : [...keys],
    scope: parseScopes(given),
    credential_ttl_seconds_max: given.integer('credential-ttl-seconds-max', { min: 1, max: 366 * 86_400 }),
    label: given.text('label'),
  })
}
