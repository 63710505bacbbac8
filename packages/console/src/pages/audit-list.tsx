import type { AuditRow } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { send } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { Sheet } from '../components/act-sheet.tsx'
import { Actor } from '../components/actor.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Menu } from '../components/menu.tsx'
import { showNotice } from '../components/notice.ts'
import { Pill, type Tone } from '../components/state.tsx'
import { describe } from '../revoke/state.ts'
import { place, setQuery, sitePath } from '../router.ts'
import { say } from '../say.ts'
import { formatExact, formatMoment } from '../time.ts'

type Query = Readonly<Record<string, string | undefined>>

const SPANS_MS: Readonly<Record<string, number>> = {
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 7 * 86_400_000,
  '30d': 30 * 86_400_000,
}

const OUTCOMES: Readonly<Record<AuditRow['outcome'], readonly [tone: Tone, word: string]>> = {
  done: ['good', say('Done')],
  unchanged: ['none', say('No change')],
  refused: ['bad', say('Rejected')],
}

function Outcome({ outcome }: Pick<AuditRow, 'outcome'>): JSX.Element {
  const [tone, word] = OUTCOMES[outcome]
  return <Pill tone={tone}>{word}</Pill>
}

/** A span such as "24h" stays relative in the address, and becomes a time when it is asked for. */
function toQuery({ since, from, to, ...rest }: Query): Query {
  const span = since === undefined ? undefined : SPANS_MS[since]
  const begin = span === undefined ? toTime(from) : new Date(Date.now() - span).toISOString()
  return { ...rest, from: begin, to: toTime(to) }
}

function toTime(local: string | undefined): string | undefined {
  const ms = local === undefined ? Number.NaN : Date.parse(`${local}Z`)
  // The service rejects a text that is no time. Without the filter, all rows would match.
  return Number.isNaN(ms) ? local : new Date(ms).toISOString()
}

interface AuditListProps {
  /** Undefined for the rows of all sites. */
  readonly siteId: string | undefined
  readonly path: string
}

const ACTOR = /^(?:operator|api_key|holder|page|sender|person|service|anonymous)(?::.+)?$/
const ACTION = /^[a-z_]{1,32}(?:\.[a-z_]{1,32})?$/
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

export function AuditList({ siteId, path }: AuditListProps): JSX.Element {
  const [rows, setRows] = useState<readonly AuditRow[]>([])
  const toCommand = (query: Query, format?: string) => {
    const { request_id, without_site, ...rest } = query
    return toCli(['audit'], {
      site: siteId,
      'all-sites': siteId === undefined && without_site === undefined,
      'without-site': without_site !== undefined,
      ...rest,
      'request-id': request_id,
      format,
    })
  }
  const opened = rows.find(({ audit_id }) => audit_id === place.value.query.get('row'))
  return (
    <>
      <List<AuditRow>
        title={siteId === undefined ? say('Audit of all sites') : say('Audit')}
        about={say('Who changed what, when and why. Rows cannot be changed or deleted here.')}
        siteId={siteId ?? 'all'}
        path={path}
        toQuery={toQuery}
        toCli={(query) => toCommand(query)}
        onItems={setRows}
        actions={<Export siteId={siteId} path={path} />}
        texts={[
          { name: 'actor', label: say('Actor'), example: 'person:person_01…', pattern: ACTOR },
          { name: 'action', label: say('Action'), example: 'user.revoke', pattern: ACTION },
          { name: 'target', label: say('Target'), example: 'did:service:ppid_…' },
          { name: 'request_id', label: say('Request id'), example: '4f1c…', pattern: REQUEST_ID },
          { name: 'from', label: say('From (UTC)'), example: '', isTime: true },
          { name: 'to', label: say('To (UTC)'), example: '', isTime: true },
        ]}
        filters={[
          {
            name: 'since',
            label: say('Time'),
            values: [
              ['', say('Any time')],
              ['1h', say('Last hour')],
              ['24h', say('24 hours')],
              ['7d', say('7 days')],
              ['30d', say('30 days')],
            ],
          },
          {
            name: 'outcome',
            label: say('Outcome'),
            values: [
              ['', say('Any outcome')],
              ...Object.entries(OUTCOMES).map(([outcome, [, word]]) => [outcome, word] as const),
            ],
          },
          {
            name: 'order',
            label: say('Order'),
            values: [
              ['', say('Newest first')],
              ['oldest', say('Oldest first')],
            ],
          },
          ...(siteId === undefined
            ? [
                {
                  name: 'without_site',
                  label: say('Sites'),
                  values: [
                    ['', say('All sites and the service')],
                    ['1', say('The service only')],
                  ] as const,
                },
              ]
            : []),
        ]}
        toKey={({ audit_id }) => audit_id}
        toHref={({ audit_id }) => {
          const query = new URLSearchParams(place.value.query)
          query.set('row', audit_id)
          return `?${query}`
        }}
        columns={[
          { title: say('Time'), cell: ({ at }) => <time dateTime={at}>{formatMoment(at)}</time> },
          { title: say('Action'), cell: ({ action }) => <code>{action}</code> },
          ...(siteId === undefined
            ? [
                {
                  title: say('Site'),
                  cell: ({ site_id }: AuditRow) => site_id ?? '–',
                  isExtra: true,
                  isText: true,
                },
              ]
            : []),
          {
            title: say('Target'),
            cell: ({ target }) => (target === null ? '–' : <Id value={target} />),
            isExtra: true,
          },
          { title: say('By'), cell: ({ actor }) => <Actor {...actor} />, isExtra: true },
          { title: say('Outcome'), cell: ({ outcome }) => <Outcome outcome={outcome} /> },
          { title: say('Reason'), cell: ({ reason }) => reason ?? '–', isWide: true, isText: true },
        ]}
        empty={{
          sentence: say('No row matches these filters.'),
          command: toCli(['audit'], siteId === undefined ? { 'all-sites': true } : { site: siteId }),
        }}
      />
      {opened !== undefined && <Row siteId={siteId} row={opened} path={path} />}
    </>
  )
}

/** One row, with the ways from it to everything of the same request, actor and target. */
function Row({ siteId, row, path }: AuditListProps & { readonly row: AuditRow }): JSX.Element {
  const close = () => setQuery({ row: undefined }, { replace: true })
  const filterBy = (name: string, value: string) => (
    <button
      type="button"
      class="link"
      onClick={() => setQuery({ row: undefined, [name]: value, pages: undefined })}
    >
      {say('Only these rows')}
    </button>
  )
  const actor = row.actor.id === null ? row.actor.type : `${row.actor.type}:${row.actor.id}`
  const site = row.site_id ?? siteId
  return (
    <Sheet title={row.action} onClose={close}>
      <div class="body">
        <Outcome outcome={row.outcome} />
        <dl class="rows">
          <dt>{say('Time')}</dt>
          <dd>
            {row.at.slice(0, 10)} {formatExact(row.at)}
          </dd>
          <dt>{say('By')}</dt>
          <dd>
            <Actor {...row.actor} /> {filterBy('actor', actor)}
          </dd>
          {row.target !== null && (
            <>
              <dt>{say('Target')}</dt>
              <dd>
                <code>{row.target}</code> {filterBy('target', row.target)}
              </dd>
            </>
          )}
          <dt>{say('Reason')}</dt>
          <dd>
            <bdi>{row.reason ?? say('None was given')}</bdi>
          </dd>
          {row.site_id !== null && (
            <>
              <dt>{say('Site')}</dt>
              <dd>{row.site_id}</dd>
            </>
          )}
          {row.seq !== null && site !== undefined && (
            <>
              <dt>{say('Log entry')}</dt>
              <dd>
                {row.action === 'user.reinstate' ? (
                  <a href={sitePath(site, 'log', String(row.seq))}>{say('Entry {seq}', { seq: row.seq })}</a>
                ) : (
                  <a href={sitePath(site, 'receipts', String(row.seq))}>
                    {say('Receipt of entry {seq}', { seq: row.seq })}
                  </a>
                )}
              </dd>
            </>
          )}
          {row.request_id !== null && (
            <>
              <dt>{say('Request')}</dt>
              <dd>
                <code>{row.request_id}</code> {filterBy('request_id', row.request_id)}
              </dd>
            </>
          )}
          <dt>{say('Row')}</dt>
          <dd>
            <Id value={row.audit_id} copy />
          </dd>
        </dl>
      </div>
      <footer>
        <AsCommand
          curl={{
            path,
            query:
              row.request_id === null ? { target: row.target ?? undefined } : { request_id: row.request_id },
          }}
          cli={toCli(['audit'], {
            site: siteId,
            'all-sites': siteId === undefined,
            ...(row.request_id === null
              ? { target: row.target ?? undefined }
              : { 'request-id': row.request_id }),
          })}
        />
        <span class="grow" />
        <button type="button" onClick={close}>
          {say('Close')}
        </button>
      </footer>
    </Sheet>
  )
}

const FORMATS = [
  ['csv', say('CSV for a spreadsheet'), 'csv'],
  ['ndjson', say('NDJSON, one row per line'), 'ndjson'],
  ['ocsf', say('OCSF events for a SIEM'), 'ocsf.ndjson'],
] as const

const EXPORT_MS_MAX = 15 * 60_000
const NAMES = [
  'actor',
  'action',
  'target',
  'request_id',
  'from',
  'to',
  'since',
  'outcome',
  'order',
  'without_site',
]

/** All rows that match the filters of the address, as a file. */
function Export({ siteId, path }: AuditListProps): JSX.Element {
  const [isBusy, setIsBusy] = useState(false)
  const download = async (format: string, ending: string) => {
    setIsBusy(true)
    const { query } = place.value
    const chosen = toQuery(Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? undefined])))
    try {
      const answer = await send(`/console${path}`, {
        site: siteId ?? 'all',
        query: { ...chosen, format },
        timeoutMs: EXPORT_MS_MAX,
      })
      saveFile(await answer.blob(), `audit-${siteId ?? 'all-sites'}.${ending}`)
      showNotice(say('The file was downloaded.'))
    } catch (fault) {
      showNotice(describe(fault))
    }
    setIsBusy(false)
  }
  return (
    <Menu
      label={isBusy ? say('Exporting…') : say('Export')}
      items={FORMATS.map(([format, title, ending]) => ({ title, run: () => void download(format, ending) }))}
    />
  )
}

function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
