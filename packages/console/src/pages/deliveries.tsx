import type { Delivery, DeliveryDetails } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { Sheet } from '../components/act-sheet.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { Fault } from '../components/fault.tsx'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { showNotice } from '../components/notice.ts'
import { Pill, StateMark, type Tone } from '../components/state.tsx'
import { useAct } from '../components/use-act.ts'
import { isPaused } from '../live.ts'
import { describe } from '../revoke/state.ts'
import { place, setQuery, sitePath } from '../router.ts'
import { say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration, formatExact, formatMoment } from '../time.ts'
import { entryWords } from './entry-words.ts'

const STATES: Readonly<Record<Delivery['status'], readonly [tone: Tone, word: string]>> = {
  pending: ['late', say('Pending')],
  delivered: ['good', say('Delivered')],
  failed: ['bad', say('Failed')],
}

const FAILURES: Readonly<Record<string, string>> = {
  status: say('The receiver answered with an error'),
  no_answer: say('No answer'),
  entry_removed: say('The entry is no longer in the log'),
}

function DeliveryState({ status }: Pick<Delivery, 'status'>): JSX.Element {
  const [tone, word] = STATES[status]
  return <Pill tone={tone}>{word}</Pill>
}

interface DeliveriesProps extends SiteProps {
  readonly webhookId: string
  readonly version: number
  readonly mayChange: boolean
}

const POLL_MS = 3000

/** The deliveries of a webhook, newest first, and one of them with its attempts. */
export function Deliveries({ siteId, webhookId, version, mayChange }: DeliveriesProps): JSX.Element {
  const [beat, setBeat] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!isPaused.value && document.visibilityState === 'visible') setBeat((last) => last + 1)
    }, POLL_MS)
    return () => clearInterval(timer)
  }, [])
  const opened = place.value.query.get('delivery')
  const close = () => setQuery({ delivery: undefined }, { replace: true })
  return (
    <>
      <List<Delivery>
        title={say('Deliveries')}
        isPart
        siteId={siteId}
        path={`/api/sites/${siteId}/deliveries`}
        version={version * 1_000_000 + beat}
        toQuery={(chosen) => ({ ...chosen, webhook_id: webhookId })}
        toCli={() => toCli(['webhooks', 'deliveries', webhookId], { site: siteId })}
        filters={[
          {
            name: 'status',
            label: say('Status'),
            values: [
              ['', say('All')],
              ['pending', say('Pending')],
              ['delivered', say('Delivered')],
              ['failed', say('Failed')],
            ],
          },
        ]}
        toKey={({ delivery_id }) => delivery_id}
        toHref={({ delivery_id }) => {
          const query = new URLSearchParams(place.value.query)
          query.set('delivery', delivery_id)
          return `${sitePath(siteId, 'webhooks', webhookId)}?${query}`
        }}
        columns={[
          { title: say('Entry'), cell: ({ seq }) => seq },
          { title: say('Kind'), cell: ({ kind }) => entryWords[kind], isExtra: true },
          { title: say('Status'), cell: ({ status }) => <DeliveryState status={status} /> },
          { title: say('Answer'), cell: ({ last_status: code }) => code ?? '–', isNumber: true },
          { title: say('Attempts'), cell: ({ attempts }) => attempts, isNumber: true, isExtra: true },
          {
            title: say('Created'),
            cell: ({ created_at: at }) => formatMoment(at),
            isNumber: true,
            isExtra: true,
          },
        ]}
        empty={{
          sentence: say('No delivery matches. Entries that are appended from now on are sent.'),
          command: toCli(['drill'], { site: siteId }),
        }}
      />
      {opened !== null && (
        <OneDelivery
          key={opened}
          siteId={siteId}
          deliveryId={opened}
          version={beat}
          mayChange={mayChange}
          onClose={close}
        />
      )}
    </>
  )
}

interface OneProps extends SiteProps {
  readonly deliveryId: string
  readonly version: number
  readonly mayChange: boolean
  readonly onClose: () => void
}

function OneDelivery({ siteId, deliveryId, version, mayChange, onClose }: OneProps): JSX.Element {
  const [delivery, setDelivery] = useState<DeliveryDetails>()
  const [sent, setSent] = useState(0)
  const { isBusy, fault, setFault, run } = useAct()
  const path = `/api/sites/${siteId}/deliveries/${encodeURIComponent(deliveryId)}`
  useEffect(() => {
    call<DeliveryDetails>(path, { site: siteId }).then(
      (found) => {
        setDelivery(found)
        setFault(undefined)
      },
      (thrown) => setFault(describe(thrown)),
    )
  }, [path, version, sent])
  const sendAgain = () =>
    run(async (idempotencyKey) => {
      await call(`${path}/replay`, { method: 'POST', site: siteId, idempotencyKey })
      showNotice(say('The delivery is sent again.'))
      setSent((last) => last + 1)
    })
  return (
    <Sheet
      title={delivery === undefined ? say('Delivery') : say('Delivery of entry {seq}', { seq: delivery.seq })}
      onClose={onClose}
    >
      <div class="body">
        <Fault text={fault} {...(delivery === undefined && { onRetry: () => setSent((last) => last + 1) })} />
        <div class="who">
          <span>
            <strong>{delivery === undefined ? say('Loading') : entryWords[delivery.kind]}</strong>
            <Id value={deliveryId} copy />
          </span>
          {delivery !== undefined && <DeliveryState status={delivery.status} />}
        </div>
        {delivery?.next_attempt_at != null && delivery.status === 'pending' && (
          <p class="meta">
            {say('The next attempt is not before {time}.', { time: formatMoment(delivery.next_attempt_at) })}
          </p>
        )}
        {delivery !== undefined && (
          <section>
            <h3 class="over">{say('Attempts')}</h3>
            {delivery.attempt_history.length === 0 && <p>{say('It has not been tried yet.')}</p>}
            <ol class="attempts">
              {delivery.attempt_history.map(({ at, ms, status, failure }) => (
                <li key={at}>
                  <StateMark tone={failure === null ? 'good' : 'bad'} />
                  <time dateTime={at}>{formatExact(at)}</time>
                  <span>
                    {failure === null ? say('Delivered') : FAILURES[failure]}
                    {status !== null && ` (${status})`}
                  </span>
                  <span class="ms">{ms === null ? '–' : formatDuration(ms)}</span>
                </li>
              ))}
            </ol>
          </section>
        )}
      </div>
      <footer>
        <AsCommand
          curl={mayChange ? { method: 'POST', path: `${path}/replay` } : { path }}
          cli={toCli(['webhooks', mayChange ? 'replay' : 'delivery', deliveryId], { site: siteId })}
        />
        <span class="grow" />
        {mayChange && (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void sendAgain()}>
            {say('Send again')}
          </button>
        )}
      </footer>
    </Sheet>
  )
}
