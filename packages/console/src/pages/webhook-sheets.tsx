import type { CreatedWebhook, RotatedSecret, Webhook, WebhookTest } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { ActSheet } from '../components/act-sheet.tsx'
import { Checks } from '../components/checks.tsx'
import { showNotice } from '../components/notice.ts'
import { open, sitePath } from '../router.ts'
import { say, sayCount } from '../say.ts'
import { closeSheet } from '../sheet-place.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration } from '../time.ts'
import { entryWords } from './entry-words.ts'

interface SheetsProps extends SiteProps {
  readonly act: string
  readonly webhook: Webhook
  readonly finish: (words: string) => void
  readonly onRotated: (answer: RotatedSecret) => void
}

export function WebhookSheets({ act, siteId, webhook, finish, onRotated }: SheetsProps): JSX.Element | null {
  const path = `/api/sites/${siteId}/webhooks/${webhook.webhook_id}`
  const id = webhook.webhook_id
  const common = { siteId, onClose: closeSheet }
  switch (act) {
    case 'change':
      return (
        <EditWebhook
          siteId={siteId}
          webhook={webhook}
          onChanged={() => finish(say('The webhook was changed.'))}
        />
      )
    case 'recover':
      return <Recover siteId={siteId} webhook={webhook} finish={finish} />
    case 'test':
      return <Test siteId={siteId} webhook={webhook} />
    case 'pause':
      return (
        <ActSheet
          {...common}
          title={say('Pause the webhook')}
          verb={say('Pause')}
          busyVerb={say('Pausing…')}
          toRequest={(reason) => ({
            method: 'PATCH',
            path,
            site: siteId,
            body: { status: 'paused', reason },
          })}
          toCli={(reason) => toCli(['webhooks', 'pause', id], { site: siteId, reason })}
          onDone={() => finish(say('The webhook is paused.'))}
        >
          <p>
            {say(
              'Nothing is sent until you resume. Entries wait in the log for as long as it keeps them, and keep their order.',
            )}
          </p>
        </ActSheet>
      )
    case 'resume':
      return (
        <ActSheet
          {...common}
          title={say('Resume the webhook')}
          verb={say('Resume')}
          busyVerb={say('Resuming…')}
          toRequest={(reason) => ({ method: 'PATCH', path, site: siteId, body: { status: 'on', reason } })}
          toCli={(reason) => toCli(['webhooks', 'resume', id], { site: siteId, reason })}
          onDone={() => finish(say('The webhook is on again.'))}
        >
          <p>
            {say(
              'It continues where it stopped. Deliveries that failed stay failed: send them again afterwards.',
            )}
          </p>
        </ActSheet>
      )
    case 'rotate':
      return (
        <ActSheet<RotatedSecret>
          {...common}
          title={say('Rotate the secret')}
          verb={say('Create a new secret')}
          busyVerb={say('Creating…')}
          hasReason={false}
          toRequest={() => ({ method: 'POST', path: `${path}/rotate-secret`, site: siteId })}
          toCli={() => toCli(['webhooks', 'rotate-secret', id], { site: siteId })}
          onDone={onRotated}
        >
          <p>
            {say(
              'For one day, each delivery is signed with both secrets. Give the receiver the new one by then.',
            )}
          </p>
        </ActSheet>
      )
    case 'delete':
      return (
        <ActSheet
          {...common}
          title={say('Delete the webhook')}
          verb={say('Delete the webhook')}
          busyVerb={say('Deleting…')}
          isEnding
          toRequest={(reason) => ({ method: 'DELETE', path, site: siteId, reason })}
          toCli={(reason) => toCli(['webhooks', 'delete', id], { site: siteId, yes: true, reason })}
          onDone={() => {
            showNotice(say('The webhook was deleted.'))
            open(sitePath(siteId, 'webhooks'))
          }}
        >
          <p>
            {say('{url} receives nothing more. Deliveries that are pending are not sent.', {
              url: <strong>{webhook.url}</strong>,
            })}
          </p>
        </ActSheet>
      )
    default:
      return null
  }
}

const ANSWERS: Readonly<Record<string, string>> = {
  '2xx': say('The receiver accepted the test'),
  '3xx': say('The receiver answered with a redirect, which is not followed'),
  '4xx': say('The receiver rejected the test'),
  '5xx': say('The receiver failed'),
}

/** Sends a signed message of its own type, which changes nothing. */
function Test({ siteId, webhook }: Pick<SheetsProps, 'siteId' | 'webhook'>): JSX.Element {
  const [result, setResult] = useState<WebhookTest>()
  const id = webhook.webhook_id
  return (
    <ActSheet<WebhookTest>
      key={result?.sent_at}
      title={say('Send a test')}
      siteId={siteId}
      verb={result === undefined ? say('Send a test') : say('Send another test')}
      busyVerb={say('Waiting for the receiver…')}
      hasReason={false}
      toRequest={() => ({
        method: 'POST',
        path: `/api/sites/${siteId}/webhooks/${id}/test`,
        site: siteId,
        timeoutMs: 40_000,
      })}
      toCli={() => toCli(['webhooks', 'test', id], { site: siteId })}
      onDone={setResult}
      onClose={closeSheet}
    >
      <p>
        {say(
          'One signed message of the type {code} is sent to {url}. It is not repeated and changes nothing.',
          { code: <code>webhook.test</code>, url: <strong>{webhook.url}</strong> },
        )}
      </p>
      {result !== undefined && (
        <p class={result.failure === null ? 'banner green' : 'banner red'} role="status">
          <strong>{result.status_class === null ? say('No answer') : ANSWERS[result.status_class]}</strong>
          {result.ms !== null && (
            <span>{say('after {duration}', { duration: formatDuration(result.ms) })}</span>
          )}
        </p>
      )}
    </ActSheet>
  )
}

interface EditProps extends SiteProps {
  readonly webhook?: Webhook
  readonly onCreated?: (answer: CreatedWebhook) => void
  readonly onChanged?: () => void
}

/** Creates or changes a webhook. */
export function EditWebhook({ siteId, webhook, onCreated, onChanged }: EditProps): JSX.Element {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [isAll, setIsAll] = useState((webhook?.kinds ?? null) === null)
  const [kinds, setKinds] = useState(webhook?.kinds ?? [])
  const isComplete = url.trim() !== '' && (isAll || kinds.length > 0)
  const path = `/api/sites/${siteId}/webhooks`
  const isNew = webhook === undefined
  return (
    <ActSheet<CreatedWebhook>
      title={isNew ? say('Create a webhook') : say('Change the webhook')}
      siteId={siteId}
      verb={isNew ? say('Create the webhook') : say('Change the webhook')}
      busyVerb={isNew ? say('Creating…') : say('Changing…')}
      toRequest={(reason) => {
        if (!isComplete) return undefined
        return isNew
          ? {
              method: 'POST',
              path,
              site: siteId,
              body: { url: url.trim(), kinds: isAll ? undefined : kinds, reason },
            }
          : {
              method: 'PATCH',
              path: `${path}/${webhook.webhook_id}`,
              site: siteId,
              body: { url: url.trim(), kinds: isAll ? null : kinds, reason },
            }
      }}
      toCli={(reason) =>
        isNew
          ? toCli(['webhooks', 'create', url.trim()], {
              site: siteId,
              kinds: isAll ? undefined : kinds.join(','),
              reason,
            })
          : toCli(['webhooks', 'change', webhook.webhook_id], {
              site: siteId,
              to: url.trim(),
              kinds: isAll ? 'all' : kinds.join(','),
              reason,
            })
      }
      onDone={(answer) => (isNew ? onCreated?.(answer) : onChanged?.())}
      onClose={closeSheet}
    >
      <label>
        URL
        <input
          data-first=""
          type="url"
          value={url}
          maxLength={2048}
          placeholder="https://hooks.example/countersign"
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
        <span class="hint">
          {isNew
            ? say('https on port 443 or 8443, at a public address.')
            : say('Pending deliveries are sent there immediately.')}
        </span>
      </label>
      <label>
        {say('Entries')}
        <select
          value={isAll ? 'all' : 'some'}
          onChange={(event) => setIsAll(event.currentTarget.value === 'all')}
        >
          <option value="all">{say('All kinds')}</option>
          <option value="some">{say('Only some kinds')}</option>
        </select>
      </label>
      {!isAll && (
        <Checks
          legend={say('Kinds')}
          words={entryWords}
          chosen={kinds}
          onChange={(next) => setKinds([...next])}
        />
      )}
    </ActSheet>
  )
}

interface RecoverProps extends SiteProps {
  readonly webhook: Webhook
  readonly finish: (words: string) => void
}

/** Sends what failed again, page by page: each call makes at most 500 deliveries pending. */
function Recover({ siteId, webhook, finish }: RecoverProps): JSX.Element {
  const [since, setSince] = useState(() => new Date(Date.now() - 86_400_000).toISOString().slice(0, 16))
  const [which, setWhich] = useState<'failed' | 'all'>('failed')
  const [cursor, setCursor] = useState<string>()
  const [count, setCount] = useState(0)
  const id = webhook.webhook_id
  const time = Number.isNaN(Date.parse(`${since}Z`)) ? undefined : new Date(`${since}Z`).toISOString()
  return (
    <ActSheet<{ recovered: number; next_cursor: string | null }>
      key={cursor}
      title={say('Send again since a time')}
      siteId={siteId}
      verb={cursor === undefined ? say('Send again') : say('Send the next ones')}
      busyVerb={say('Asking…')}
      toRequest={(reason) =>
        time === undefined
          ? undefined
          : {
              method: 'POST',
              path: `/api/sites/${siteId}/webhooks/${id}/recover`,
              site: siteId,
              body: { since: time, deliveries: which, cursor, reason },
            }
      }
      toCli={(reason) =>
        time &&
        toCli(['webhooks', 'recover', id], {
          site: siteId,
          since: time,
          all: which === 'all',
          cursor,
          reason,
        })
      }
      onDone={({ recovered, next_cursor: next }) => {
        const all = count + recovered
        if (next === null)
          return finish(
            all === 0
              ? say('There was nothing to send again.')
              : sayCount(all, '{count} delivery is pending again.', '{count} deliveries are pending again.'),
          )
        setCount(all)
        setCursor(next)
      }}
      onClose={closeSheet}
    >
      {cursor !== undefined && (
        <p class="banner">
          <strong>
            {sayCount(count, '{count} delivery is pending again.', '{count} deliveries are pending again.')}
          </strong>{' '}
          {say('There are more: send the next ones when these have arrived.')}
        </p>
      )}
      <label>
        {say('Deliveries created since (UTC)')}
        <input
          data-first=""
          type="datetime-local"
          value={since}
          readOnly={cursor !== undefined}
          onInput={(event) => setSince(event.currentTarget.value)}
        />
      </label>
      <label>
        {say('Which')}
        <select
          value={which}
          disabled={cursor !== undefined}
          onChange={(event) => setWhich(event.currentTarget.value === 'all' ? 'all' : 'failed')}
        >
          <option value="failed">{say('Only those that failed')}</option>
          <option value="all">{say('All, also those that arrived')}</option>
        </select>
      </label>
    </ActSheet>
  )
}
