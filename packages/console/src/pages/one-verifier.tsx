import type { PropagationStats, Receipt, ReceiptSummary, Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayAdminister } from '../api/session.ts'
import { useLoad } from '../api/use-load.ts'
import { createLogScale, formatDecade, listDecades, round } from '../charts/scale.ts'
import { AsCommand } from '../components/as-command.tsx'
import { Fault } from '../components/fault.tsx'
import { showNotice } from '../components/notice.ts'
import { Pill, StateMark } from '../components/state.tsx'
import { TableHead } from '../components/table-head.tsx'
import { useAct } from '../components/use-act.ts'
import { toAppliedMs, toKindWords } from '../evidence/words.ts'
import { entriesSeen, liveLog } from '../live.ts'
import { callWithStepUp } from '../people/step-up.tsx'
import { open, sitePath } from '../router.ts'
import { formatCount, say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration, formatMoment } from '../time.ts'
import { describeVerifier, showVerifier } from './verifier-states.ts'

interface Answered {
  readonly summary: ReceiptSummary
  readonly afterMs: number | null
  readonly isListed: boolean
}

const RECEIPTS = 20

/** What the last receipts say of one verifier. */
async function loadAnswers(
  siteId: string,
  instanceId: string,
  signal: AbortSignal,
): Promise<readonly Answered[]> {
  const options = { site: siteId, signal }
  const page = await call<{ items: readonly ReceiptSummary[] }>(`/api/sites/${siteId}/receipts`, {
    ...options,
    query: { limit: RECEIPTS },
  })
  return Promise.all(
    page.items.map(async (summary) => {
      const receipt = await call<Receipt>(`/api/sites/${siteId}/receipts/${summary.seq}`, options)
      const own = receipt.verifiers.find(({ instance_id }) => instance_id === instanceId)
      return { summary, afterMs: own === undefined ? null : toAppliedMs(own), isListed: own !== undefined }
    }),
  )
}

const RELOAD_MS = 3000

export function OneVerifier({ siteId, id }: SiteProps & { readonly id: string }): JSX.Element {
  const path = `/api/sites/${siteId}/verifiers/${encodeURIComponent(id)}`
  const {
    value: each,
    fault,
    reload,
  } = useLoad(`${siteId} ${id}`, (signal) => call<Verifier>(path, { site: siteId, signal }), {
    again: entriesSeen.value,
    everyMs: RELOAD_MS,
  })
  const { value: answers } = useLoad(`${siteId} ${id}`, (signal) => loadAnswers(siteId, id, signal), {
    again: entriesSeen.value,
  })
  const { value: stats } = useLoad(
    siteId,
    (signal) =>
      call<PropagationStats>(`/api/sites/${siteId}/propagation/stats`, {
        site: siteId,
        query: { window: '30d' },
        signal,
      }),
    { again: entriesSeen.value },
  )
  const own = stats?.verifiers.find(({ verifier_id }) => verifier_id === each?.verifier_id)
  return (
    <>
      <p class="meta">
        <a href={sitePath(siteId, 'verifiers')}>{say('Verifiers')}</a>
      </p>
      <Fault text={each === undefined ? fault : undefined} />
      {each !== undefined && (
        <>
          <div class="title">
            <div>
              <h1>{each.verifier_id}</h1>
              <p class="lead">{describeVerifier(each)}</p>
            </div>
            <AsCommand curl={{ path }} cli={toCli(['verifiers'], { site: siteId, instance: id })} />
            {(each.state === 'gone' || each.state === 'silent') && mayAdminister(siteId) && (
              <Retire siteId={siteId} path={path} each={each} onDone={reload} />
            )}
          </div>
          <dl class="card facts">
            <Fact word={say('State')}>
              <Pill tone={showVerifier(each).tone}>{showVerifier(each).word}</Pill>
            </Fact>
            <Fact word={say('Applied')}>
              {say('{seq} of {count}', {
                seq: each.seq,
                count: formatCount(Math.max(liveLog.value?.seq ?? 0, each.seq + each.lag)),
              })}
            </Fact>
            <Fact word={say('In receipts')}>{each.expected ? say('Expected') : say('Not expected')}</Fact>
            <Fact word={say('Without fresh data')}>
              {each.fails_open
                ? say('Fails open: may accept revoked access')
                : each.max_staleness_seconds === null
                  ? say('Not declared')
                  : say('Rejects everything after {seconds} s', {
                      seconds: each.max_staleness_seconds,
                    })}
            </Fact>
            <Fact word={say('Last answer')}>
              {each.acknowledged_at === null ? '–' : formatMoment(each.acknowledged_at)}
            </Fact>
            <Fact word={each.state === 'connected' ? say('Connected since') : say('Last connected')}>
              {formatMoment(each.connected_at)}
            </Fact>
            <Fact word={say('First seen')}>{formatMoment(each.first_seen_at)}</Fact>
            <Fact word={say('Node')}>{each.node_id ?? '–'}</Fact>
            <Fact word={say('Version')}>{each.version ?? say('Not declared')}</Fact>
            <Fact word={say('Clock difference')}>
              {each.clock_difference_ms === undefined
                ? say('Not known')
                : say('{ms} ms', { ms: each.clock_difference_ms })}
            </Fact>
            <Fact word={say('Instance')}>
              <code>{each.instance_id}</code>
            </Fact>
          </dl>
        </>
      )}
      {answers !== undefined && answers.length > 0 && (
        <section class="card answers">
          <div class="row">
            <h2>{say('Its last {count} entries', { count: answers.length })}</h2>
            {own !== undefined && (
              <span class="meta">
                {say('30 days: p50 {half}, p99 {most}, slowest {slowest}', {
                  half: showMs(own.p50_ms),
                  most: showMs(own.p99_ms),
                  slowest: showMs(own.max_ms),
                })}
              </span>
            )}
          </div>
          <AnswerPlot answers={answers} />
          <AnswerTable siteId={siteId} answers={answers} />
        </section>
      )}
    </>
  )
}

function showMs(ms: number | null): string {
  return ms === null ? '–' : formatDuration(ms)
}

function Fact({
  word,
  children,
}: {
  readonly word: string
  readonly children: JSX.Element | string | (string | number)[]
}): JSX.Element {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const WIDTH = 900
const HEIGHT = 120

/** One dot for each entry, oldest first: how long this verifier took. The table has the numbers. */
function AnswerPlot({ answers }: { readonly answers: readonly Answered[] }): JSX.Element {
  const times = answers.flatMap(({ afterMs }) => afterMs ?? [])
  const toMs = Math.max(1000, ...times)
  const scale = createLogScale(1, toMs, HEIGHT - 16)
  const toY = (ms: number) => HEIGHT - 8 - scale(ms)
  const step = (WIDTH - 60) / Math.max(1, answers.length)
  const points = answers.toReversed().map((each, i) => ({ ...each, x: round(50 + step * (i + 0.5)) }))
  const line = points.flatMap(({ x, afterMs }) => (afterMs === null ? [] : `${x} ${toY(afterMs)}`))
  return (
    <svg class="chart plot" viewBox={`0 0 ${WIDTH} ${HEIGHT + 14}`} aria-hidden="true">
      {listDecades(1, toMs).map((ms) => (
        <g key={ms}>
          <line class="grid" x1="48" x2={WIDTH} y1={toY(ms)} y2={toY(ms)} />
          <text x="42" y={toY(ms) + 4} text-anchor="end">
            {formatDecade(ms)}
          </text>
        </g>
      ))}
      {line.length > 1 && <path class="plot-line" d={`M${line.join('L')}`} />}
      {points.map(({ summary, x, afterMs, isListed }) =>
        afterMs !== null ? (
          <circle key={summary.seq} class="fill-green" cx={x} cy={toY(afterMs)} r="4" />
        ) : (
          <circle key={summary.seq} class={isListed ? 'stroke-red' : 'stroke-line'} cx={x} cy="6" r="4" />
        ),
      )}
      {points.map(
        ({ summary, x }, i) =>
          i % Math.ceil(points.length / 10) === 0 && (
            <text key={summary.seq} x={x} y={HEIGHT + 12} text-anchor="middle">
              {summary.seq}
            </text>
          ),
      )}
    </svg>
  )
}

function AnswerTable({
  siteId,
  answers,
}: SiteProps & { readonly answers: readonly Answered[] }): JSX.Element {
  return (
    <table class="compact">
      <TableHead
        columns={[
          [say('Entry')],
          [say('What')],
          [say('Applied after'), 'number'],
          [say('Time'), 'number extra'],
        ]}
      />
      <tbody>
        {answers.map(({ summary, afterMs, isListed }) => (
          <tr key={summary.seq}>
            <td class="seq">
              <a href={sitePath(siteId, 'receipts', String(summary.seq))}>{summary.seq}</a>
            </td>
            <td>{summary.drill_id === null ? toKindWords(summary.kind) : say('Drill')}</td>
            <td class="number">
              {afterMs !== null ? (
                formatDuration(afterMs)
              ) : isListed ? (
                <span class="applied">
                  <StateMark tone="gone" /> {say('not applied')}
                </span>
              ) : (
                say('not in the receipt')
              )}
            </td>
            <td class="number extra">{formatMoment(summary.at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface RetireProps extends SiteProps {
  readonly path: string
  readonly each: Verifier
  readonly onDone: () => void
}

/** Receipts no longer expect a verifier that an operator has retired. */
function Retire({ siteId, path, each, onDone }: RetireProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false)
  const [reason, setReason] = useState('')
  const { isBusy, fault, run } = useAct()
  const retire = () =>
    run(async (idempotencyKey) => {
      const why = reason.trim()
      await callWithStepUp(path, { method: 'DELETE', site: siteId, reason: why, idempotencyKey })
      showNotice(say('{verifier} is retired.', { verifier: each.verifier_id }))
      onDone()
      open(`${sitePath(siteId, 'verifiers')}?state=retired`)
    })
  if (!isOpen)
    return (
      <button type="button" onClick={() => setIsOpen(true)}>
        {say('Retire')}
      </button>
    )
  return (
    <form
      class="card ask"
      onSubmit={(event) => {
        event.preventDefault()
        void retire()
      }}
    >
      <p class="meta">
        {say('Receipts no longer expect it.')}{' '}
        {each.fails_open && `${say('It fails open: retire it only after its process has ended.')} `}
        {say('A verifier that reconnects is counted again.')}
      </p>
      <label>
        {say('Reason')}
        <input value={reason} maxLength={200} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <Fault text={fault} />
      <p class="paper-acts">
        <button type="submit" class="primary" disabled={isBusy || reason.trim() === ''}>
          {say('Retire {verifier}', { verifier: each.verifier_id })}
        </button>
        <button type="button" onClick={() => setIsOpen(false)}>
          {say('Cancel')}
        </button>
      </p>
    </form>
  )
}
