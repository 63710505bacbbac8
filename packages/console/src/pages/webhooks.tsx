import type { CreatedWebhook, RotatedSecret, Webhook } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayAdminister } from '../api/session.ts'
import { AsCommand } from '../components/as-command.tsx'
import { DetailHead } from '../components/detail-head.tsx'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Menu } from '../components/menu.tsx'
import { SecretSheet } from '../components/secret-sheet.tsx'
import { Pill, type Tone } from '../components/state.tsx'
import { useChanging } from '../components/use-changing.ts'
import { open, place, sitePath } from '../router.ts'
import { say, sayCount, sayList } from '../say.ts'
import { closeSheet, openSheet, sheet } from '../sheet-place.ts'
import type { SiteProps } from '../site-props.ts'
import { formatMoment } from '../time.ts'
import { Deliveries } from './deliveries.tsx'
import { entryWords } from './entry-words.ts'
import { EditWebhook, WebhookSheets } from './webhook-sheets.tsx'

const STATES: Readonly<Record<Webhook['status'], readonly [tone: Tone, word: string]>> = {
  on: ['good', say('On')],
  paused: ['silent', say('Paused')],
  disabled: ['bad', say('Disabled')],
}

function WebhookState({ status }: Pick<Webhook, 'status'>): JSX.Element {
  const [tone, word] = STATES[status]
  return <Pill tone={tone}>{word}</Pill>
}

export function Webhooks({ siteId }: SiteProps): JSX.Element {
  const { id } = place.value
  return id === undefined ? <WebhookList siteId={siteId} /> : <OneWebhook key={id} siteId={siteId} id={id} />
}

function WebhookList({ siteId }: SiteProps): JSX.Element {
  const [version, setVersion] = useState(0)
  const [created, setCreated] = useState<CreatedWebhook>()
  const mayChange = mayAdminister(siteId)
  return (
    <>
      <List<Webhook>
        title={say('Webhooks')}
        about={say('Every entry of the log is sent to these addresses, in order and signed.')}
        siteId={siteId}
        path={`/api/sites/${siteId}/webhooks`}
        version={version}
        toKey={({ webhook_id }) => webhook_id}
        toHref={({ webhook_id }) => sitePath(siteId, 'webhooks', webhook_id)}
        toCli={() => toCli(['webhooks', 'list'], { site: siteId })}
        actions={
          mayChange && (
            <button type="button" class="primary" onClick={() => openSheet('create')}>
              {say('Create a webhook')}
            </button>
          )
        }
        columns={[
          { title: 'URL', cell: ({ url }) => url },
          { title: say('Status'), cell: ({ status }) => <WebhookState status={status} /> },
          {
            title: say('Entries'),
            cell: ({ kinds }) =>
              kinds === null ? say('All kinds') : sayCount(kinds.length, '{count} kind', '{count} kinds'),
            isExtra: true,
          },
          {
            title: say('Created'),
            cell: ({ created_at }) => formatMoment(created_at),
            isNumber: true,
            isExtra: true,
          },
        ]}
        empty={{
          sentence: say('No webhook receives the entries of this site.'),
          command: toCli(['webhooks', 'create', 'https://hooks.example/countersign'], { site: siteId }),
        }}
      />
      {mayChange && sheet.value.act === 'create' && (
        <EditWebhook
          siteId={siteId}
          onCreated={(answer) => {
            closeSheet()
            setVersion((last) => last + 1)
            setCreated(answer)
          }}
        />
      )}
      {created !== undefined && (
        <SecretSheet
          title={say('The secret of the webhook')}
          secret={created.secret}
          onClose={() => {
            setCreated(undefined)
            open(sitePath(siteId, 'webhooks', created.webhook_id))
          }}
        >
          <p class="meta">{say('The receiver checks the signature of every delivery with it.')}</p>
        </SecretSheet>
      )}
    </>
  )
}

interface OneProps extends SiteProps {
  readonly id: string
}

function OneWebhook({ siteId, id }: OneProps): JSX.Element {
  const [rotated, setRotated] = useState<RotatedSecret>()
  const mayChange = mayAdminister(siteId)
  const {
    value: webhook,
    fault,
    reload,
    version,
    finish,
  } = useChanging(`${siteId} ${id}`, async () => (await findWebhook(siteId, id)) ?? ('missing' as const))
  const { act } = sheet.value
  const found = webhook === 'missing' ? undefined : webhook
  return (
    <>
      <DetailHead
        back={{ href: sitePath(siteId, 'webhooks'), title: say('Webhooks') }}
        fault={fault}
        onRetry={reload}
        acts={
          <>
            <AsCommand
              curl={{ path: `/api/sites/${siteId}/webhooks` }}
              cli={toCli(['webhooks', 'show', id], { site: siteId })}
            />
            {mayChange && found !== undefined && (
              <>
                <button type="button" onClick={() => openSheet('test')}>
                  {say('Send a test')}
                </button>
                <Acts status={found.status} />
              </>
            )}
          </>
        }
      >
        <h1 class="url">{found?.url ?? <Id value={id} />}</h1>
        <Id value={id} copy />
      </DetailHead>
      {webhook === 'missing' && <p class="card empty">{say('This webhook was deleted.')}</p>}
      {found !== undefined && (
        <>
          <dl class="card facts">
            <div>
              <dt>{say('Status')}</dt>
              <dd>
                <WebhookState status={found.status} />
              </dd>
            </div>
            <div>
              <dt>{say('Entries')}</dt>
              <dd>
                {found.kinds === null
                  ? say('All kinds')
                  : sayList(found.kinds.map((kind) => entryWords[kind]))}
              </dd>
            </div>
            <div>
              <dt>{say('Created')}</dt>
              <dd>{formatMoment(found.created_at)}</dd>
            </div>
          </dl>
          {found.status === 'disabled' && (
            <p class="banner amber">
              <strong>{say('The service has disabled this webhook.')}</strong>{' '}
              {say(
                'Its receiver failed for too long, or answered 410. Repair the receiver, resume, then send again what failed.',
              )}
            </p>
          )}
        </>
      )}
      <Deliveries siteId={siteId} webhookId={id} version={version} mayChange={mayChange} />
      {mayChange && found !== undefined && act !== undefined && (
        <WebhookSheets
          act={act}
          siteId={siteId}
          webhook={found}
          finish={finish}
          onRotated={(answer) => {
            closeSheet()
            setRotated(answer)
          }}
        />
      )}
      {rotated !== undefined && (
        <SecretSheet
          title={say('The new secret')}
          secret={rotated.secret}
          onClose={() => setRotated(undefined)}
        >
          <p class="meta">
            {say('Until {time}, deliveries are signed with both secrets.', {
              time: formatMoment(rotated.previous_valid_until),
            })}
          </p>
        </SecretSheet>
      )}
    </>
  )
}

async function findWebhook(siteId: string, id: string): Promise<Webhook | undefined> {
  let cursor: string | undefined
  do {
    const page: { items: readonly Webhook[]; next_cursor: string | null } = await call(
      `/api/sites/${siteId}/webhooks`,
      { site: siteId, query: { limit: 200, cursor } },
    )
    const found = page.items.find(({ webhook_id }) => webhook_id === id)
    if (found !== undefined) return found
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return undefined
}

function Acts({ status }: Pick<Webhook, 'status'>): JSX.Element {
  return (
    <>
      {status === 'on' ? (
        <button type="button" onClick={() => openSheet('pause')}>
          {say('Pause')}
        </button>
      ) : (
        <button type="button" class="primary" onClick={() => openSheet('resume')}>
          {say('Resume')}
        </button>
      )}
      <Menu
        class="icon-button"
        name={say('More actions')}
        label="⋯"
        items={[
          { title: say('Change'), run: () => openSheet('change') },
          { title: say('Send again since a time'), run: () => openSheet('recover') },
          { title: say('Rotate the secret'), run: () => openSheet('rotate') },
          { title: say('Delete'), isDanger: true, run: () => openSheet('delete') },
        ]}
      />
    </>
  )
}
