import type { Drill, DrillSummary } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayRevoke } from '../api/session.ts'
import { useLoad } from '../api/use-load.ts'
import { Applied } from '../components/applied.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { Command } from '../components/copy.tsx'
import { Fault } from '../components/fault.tsx'
import { Icon } from '../components/icon.tsx'
import { saveFile } from '../components/save-file.ts'
import { Pill, type Tone } from '../components/state.tsx'
import { TableHead } from '../components/table-head.tsx'
import { useAct } from '../components/use-act.ts'
import { describeDrill } from '../evidence/overview-cards.tsx'
import { Paper, PaperActs, toFileName, useCheck } from '../evidence/paper.tsx'
import { usePages } from '../evidence/use-pages.ts'
import { entriesSeen } from '../live.ts'
import { callWithStepUp } from '../people/step-up.tsx'
import { open, place, sitePath } from '../router.ts'
import { say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration, formatExact, formatMoment, formatUtc } from '../time.ts'

export function Drills({ siteId }: SiteProps): JSX.Element {
  const { id } = place.value
  return id === undefined ? <DrillList siteId={siteId} /> : <OneDrill key={id} siteId={siteId} id={id} />
}

function DrillList({ siteId }: SiteProps): JSX.Element {
  const { items, fault, cursor, reload, loadMore } = usePages<DrillSummary>(
    siteId,
    `/api/sites/${siteId}/drills`,
    {},
    entriesSeen.value,
  )
  return (
    <>
      <div class="title">
        <div>
          <h1>{say('Drills')}</h1>
          <p class="meta">
            {say(
              'A drill revokes an id that no credential has, and reports which verifiers applied it within 30 seconds. No user loses access. Webhooks receive the entry.',
            )}
          </p>
        </div>
        <AsCommand
          curl={{ path: `/api/sites/${siteId}/drills` }}
          cli={toCli(['drill'], { site: siteId, list: true })}
        />
      </div>
      {mayRevoke(siteId) && <StartDrill siteId={siteId} />}
      <Fault text={fault} onRetry={reload} />
      {items?.length === 0 ? (
        <div class="card empty">
          <p>{say('No drill has been run at this site.')}</p>
          <Command text={toCli(['drill'], { site: siteId })} />
        </div>
      ) : (
        <div class="card table">
          <table class="list">
            <TableHead
              columns={[
                [say('Started')],
                [say('Result')],
                [say('Applied by')],
                [say('Last answer'), 'number'],
                [say('Entry'), 'number extra'],
              ]}
            />
            <tbody>
              {items?.map((each) => (
                <tr key={each.drill_id}>
                  <td class="main">
                    <a href={sitePath(siteId, 'drills', each.drill_id)}>{formatMoment(each.started_at)}</a>
                  </td>
                  <td data-title={say('Result')}>
                    <Result drill={each} />
                  </td>
                  <td data-title={say('Applied by')}>
                    {each.acknowledged === null || each.expected === null ? (
                      '–'
                    ) : (
                      <Applied acknowledged={each.acknowledged} expected={each.expected} state="complete" />
                    )}
                  </td>
                  <td class="number" data-title={say('Last answer')}>
                    {each.elapsed_ms === null ? '–' : formatDuration(each.elapsed_ms)}
                  </td>
                  <td class="number extra">{each.seq}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {cursor !== null && (
        <button type="button" class="more" onClick={loadMore}>
          {say('Show more')}
        </button>
      )}
    </>
  )
}

/** Without a verifier, nothing is proven. */
function Result({ drill }: { readonly drill: Pick<DrillSummary, 'state' | 'expected'> }): JSX.Element {
  const { state, expected } = drill
  const [tone, word]: readonly [Tone, string] =
    state === 'running'
      ? ['none', say('running')]
      : expected === 0
        ? ['none', say('no verifier')]
        : state === 'complete'
          ? ['good', say('complete')]
          : ['gone', say('incomplete')]
  return <Pill tone={tone}>{word}</Pill>
}

/** The form opens in place of the button that had the focus. */
function focusFirst(field: HTMLInputElement | null): void {
  field?.focus()
}

function StartDrill({ siteId }: SiteProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(place.value.query.has('start'))
  const [reason, setReason] = useState('')
  const { isBusy, fault, run } = useAct()
  const start = () =>
    run(async (idempotencyKey) => {
      const drill = await callWithStepUp<Drill>(`/api/sites/${siteId}/drills`, {
        method: 'POST',
        site: siteId,
        body: { reason: reason.trim() },
        idempotencyKey,
      })
      open(sitePath(siteId, 'drills', drill.drill_id))
    })
  if (!isOpen)
    return (
      <button type="button" class="primary spaced" onClick={() => setIsOpen(true)}>
        {say('Run a drill')}
      </button>
    )
  return (
    <form
      class="card ask spaced"
      onSubmit={(event) => {
        event.preventDefault()
        void start()
      }}
    >
      <label>
        {say('Why now?')}
        <input
          value={reason}
          maxLength={200}
          placeholder={say('Weekly drill')}
          ref={focusFirst}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <Fault text={fault} />
      <p class="paper-acts">
        <button type="submit" class="primary" disabled={isBusy || reason.trim() === ''}>
          {isBusy ? say('Starting…') : say('Run the drill')}
        </button>
        <AsCommand
          curl={{ method: 'POST', path: `/api/sites/${siteId}/drills`, body: { reason: reason.trim() } }}
          cli={toCli(['drill'], { site: siteId, reason: reason.trim() })}
        />
        <button type="button" onClick={() => setIsOpen(false)}>
          {say('Cancel')}
        </button>
      </p>
    </form>
  )
}

const RUNNING_MS = 500

function OneDrill({ siteId, id }: SiteProps & { readonly id: string }): JSX.Element {
  const [isRunning, setIsRunning] = useState(true)
  const { value: drill, fault } = useLoad(
    `${siteId} ${id}`,
    async (signal) => {
      const found = await call<Drill>(`/api/sites/${siteId}/drills/${encodeURIComponent(id)}`, {
        site: siteId,
        signal,
      })
      setIsRunning(found.report === null)
      return found
    },
    { everyMs: isRunning ? RUNNING_MS : undefined },
  )
  return (
    <>
      <p class="meta no-print">
        <a href={sitePath(siteId, 'drills')}>{say('Drills')}</a>
      </p>
      <Fault text={drill === undefined ? fault : undefined} />
      {drill !== undefined && (
        <div class="title no-print">
          <div>
            <h1>{say('Drill at {time}', { time: formatMoment(drill.started_at) })}</h1>
            <p class="lead" role="status">
              {drill.report === null
                ? say('Entry {seq} is durable. Waiting for the verifiers, at most 30 seconds.', {
                    seq: drill.seq,
                  })
                : describeDrill({
                    ...drill,
                    acknowledged: drill.report.receipt.acknowledged,
                    expected: drill.report.receipt.expected,
                    elapsed_ms: drill.report.receipt.elapsed_ms,
                  })}
            </p>
          </div>
          <Result drill={{ state: drill.state, expected: drill.report?.receipt.expected ?? null }} />
        </div>
      )}
      {drill?.report && <Report siteId={siteId} report={drill.report} />}
    </>
  )
}

function Report({
  siteId,
  report,
}: SiteProps & { readonly report: NonNullable<Drill['report']> }): JSX.Element {
  const text = JSON.stringify(report)
  const check = useCheck(report, text)
  const { receipt } = report
  return (
    <div class="paper-column alone">
      <Paper
        siteId={siteId}
        receipt={receipt}
        check={check}
        title={say('Countersign drill report')}
        facts={
          <>
            <div>
              <dt>{say('Outcome')}</dt>
              <dd>
                <strong>{report.outcome === 'complete' ? say('complete') : say('incomplete')}</strong>
              </dd>
            </div>
            <div>
              <dt>{say('Ran')}</dt>
              <dd>
                {say('{from} to {to}', {
                  from: formatUtc(report.started_at),
                  to: formatExact(report.ended_at),
                })}
              </dd>
            </div>
          </>
        }
      />
      <PaperActs>
        <button type="button" onClick={() => saveFile(toFileName(siteId, receipt), text, 'application/json')}>
          <Icon name="download" /> {say('Download JSON')}
        </button>
        <a class="button" href={sitePath(siteId, 'log', String(receipt.seq))}>
          {say('Entry in the log')}
        </a>
      </PaperActs>
    </div>
  )
}
