import type { PropagationStats, Receipt, ReceiptSummary } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { useLoad } from '../api/use-load.ts'
import { Histogram } from '../charts/histogram.tsx'
import { AppliedCount } from '../components/applied.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { Command } from '../components/copy.tsx'
import { Fault } from '../components/fault.tsx'
import { Icon } from '../components/icon.tsx'
import { saveFile } from '../components/save-file.ts'
import { TableHead } from '../components/table-head.tsx'
import { CheckLine, Paper, PaperActs, toFileName, useCheck } from '../evidence/paper.tsx'
import { usePages } from '../evidence/use-pages.ts'
import { toKindWords } from '../evidence/words.ts'
import { entriesSeen } from '../live.ts'
import type { DocumentCheck } from '../log/check-document.ts'
import { describe } from '../revoke/state.ts'
import { place, setQuery, sitePath } from '../router.ts'
import { formatCount, say, sayCount } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration, formatMoment } from '../time.ts'

const WINDOWS: readonly (readonly [string, string])[] = [
  ['1h', say('1 hour')],
  ['24h', say('24 hours')],
  ['30d', say('30 days')],
]

export function Receipts({ siteId }: SiteProps): JSX.Element {
  const { id, query } = place.value
  const window = WINDOWS.find(([name]) => name === query.get('window'))?.[0] ?? '24h'
  const list = usePages<ReceiptSummary>(
    siteId,
    `/api/sites/${siteId}/receipts`,
    { state: query.get('state') ?? undefined },
    entriesSeen.value,
  )
  const chosen = id ?? (list.items?.[0] === undefined ? undefined : String(list.items[0].seq))
  return (
    <>
      <div class="title no-print">
        <div>
          <h1>{say('Receipts')}</h1>
          <p class="meta">
            {say(
              'A signed record of every entry: when each verifier applied it, and since when access is denied everywhere.',
            )}
          </p>
        </div>
        <fieldset class="segment">
          <legend class="visually-hidden">{say('Time of the histogram')}</legend>
          {WINDOWS.map(([name, word]) => (
            <button
              key={name}
              type="button"
              aria-pressed={window === name}
              onClick={() => setQuery({ window: name === '24h' ? '' : name })}
            >
              {word}
            </button>
          ))}
        </fieldset>
      </div>
      <div class={id === undefined ? 'receipts' : 'receipts with-paper'}>
        <div class="column no-print">
          <TimeToDeny siteId={siteId} window={window} />
          <ReceiptList siteId={siteId} list={list} chosen={chosen} />
          <CheckFile />
        </div>
        {chosen !== undefined && <OneReceipt key={chosen} siteId={siteId} seq={chosen} />}
      </div>
    </>
  )
}

const MEASURES: Readonly<Record<NonNullable<PropagationStats['measure']>, string>> = {
  applied: say('From the entry until each verifier had applied it, as it reports. These are upper bounds.'),
  acknowledged: say(
    'From the entry until its acknowledgement arrived. Guards collect acknowledgements for up to 250 ms, so these are upper bounds.',
  ),
  mixed: say(
    'Some verifiers report when they applied an entry; of the others, the arrival of the acknowledgement counts. Both are upper bounds.',
  ),
}
const STATS_MS = 5000

/** How long verifiers take to apply entries. */
function TimeToDeny({ siteId, window }: SiteProps & { readonly window: string }): JSX.Element {
  const { value, fault } = useLoad(
    `${siteId} ${window}`,
    (signal) =>
      call<PropagationStats>(`/api/sites/${siteId}/propagation/stats`, {
        site: siteId,
        query: { window },
        signal,
      }),
    { again: entriesSeen.value, everyMs: STATS_MS },
  )
  return (
    <section class="card">
      <div class="row">
        <h2>{say('Time until verifiers deny')}</h2>
        <AsCommand
          curl={{ path: `/api/sites/${siteId}/propagation/stats`, query: { window } }}
          cli={toCli(['receipts'], { site: siteId, stats: window })}
        />
      </div>
      {value === undefined ? (
        <p class={fault === undefined ? 'meta' : 'fault'}>{fault ?? say('Asking the service…')}</p>
      ) : value.samples === 0 ? (
        <p class="meta">{say('No verifier has applied an entry in this time. A drill adds one.')}</p>
      ) : (
        <>
          <dl class="stats">
            <Stat ms={value.p50_ms} word={say('median, p50')} />
            <Stat ms={value.p99_ms} word={say('99 of 100, p99')} />
            <Stat ms={value.max_ms} word={say('slowest')} />
          </dl>
          <Histogram stats={value} />
          <p class="meta">{MEASURES[value.measure ?? 'acknowledged']}</p>
          <StatsTable stats={value} />
        </>
      )}
    </section>
  )
}

function Stat({ ms, word }: { readonly ms: number | null; readonly word: string }): JSX.Element {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{showMs(ms)}</dd>
    </div>
  )
}

function showMs(ms: number | null): string {
  return ms === null ? '–' : formatDuration(ms)
}

/** The numbers of the histogram, by verifier. */
function StatsTable({ stats }: { readonly stats: PropagationStats }): JSX.Element {
  return (
    <details class="numbers-table">
      <summary>{say('The same as a table')}</summary>
      <table>
        <caption class="visually-hidden">{say('Time until each verifier had applied entries')}</caption>
        <TableHead
          columns={[
            [say('Verifier')],
            [say('Entries'), 'number'],
            [say('p50'), 'number'],
            [say('p99'), 'number'],
            [say('Slowest'), 'number'],
          ]}
        />
        <tbody>
          {stats.verifiers.map(({ verifier_id, samples, p50_ms, p99_ms, max_ms }) => (
            <tr key={verifier_id}>
              <th scope="row">{verifier_id ?? say('Without a name')}</th>
              <td class="number">{formatCount(samples)}</td>
              <td class="number">{showMs(p50_ms)}</td>
              <td class="number">{showMs(p99_ms)}</td>
              <td class="number">{showMs(max_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <table>
        <caption class="visually-hidden">{say('The bars of the histogram')}</caption>
        <TableHead columns={[[say('Up to')], [say('Times'), 'number']]} />
        <tbody>
          {stats.buckets.map(({ up_to_ms, count }) => (
            <tr key={up_to_ms}>
              <th scope="row">{formatDuration(up_to_ms)}</th>
              <td class="number">{formatCount(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

const STATES: readonly (readonly [string, string])[] = [
  ['', say('All')],
  ['complete', say('Complete')],
  ['waiting', say('Waiting')],
]

interface ListProps extends SiteProps {
  readonly list: ReturnType<typeof usePages<ReceiptSummary>>
  readonly chosen: string | undefined
}

function ReceiptList({ siteId, list, chosen }: ListProps): JSX.Element {
  const { query } = place.value
  const { items, fault, cursor, reload } = list
  return (
    <section class="card flush">
      <header>
        <h2>{say('Entries')}</h2>
        <fieldset class="choices">
          <legend class="visually-hidden">{say('State')}</legend>
          {STATES.map(([name, word]) => (
            <button
              key={name}
              type="button"
              aria-pressed={(query.get('state') ?? '') === name}
              onClick={() => setQuery({ state: name })}
            >
              {word}
            </button>
          ))}
        </fieldset>
      </header>
      <Fault text={fault} onRetry={reload} />
      {items?.length === 0 ? (
        <div class="empty">
          <p>
            {query.get('state') === null
              ? say('Nothing has been revoked at this site. A drill shows what a receipt looks like.')
              : say('No receipt is in this state.')}
          </p>
          {query.get('state') === null && <Command text={toCli(['drill'], { site: siteId })} />}
        </div>
      ) : (
        <table class="receipt-table">
          <TableHead
            columns={[
              [say('Entry')],
              [say('What')],
              [say('Applied')],
              [say('Last answer'), 'number'],
              [say('Time'), 'number extra'],
            ]}
          />
          <tbody>
            {items?.map((each) => (
              <tr key={each.seq} class={String(each.seq) === chosen ? 'chosen' : undefined}>
                <td class="seq">
                  <a
                    href={sitePath(siteId, 'receipts', String(each.seq)) + location.search}
                    aria-current={String(each.seq) === chosen ? 'true' : undefined}
                  >
                    {each.seq}
                  </a>
                </td>
                <td>{each.drill_id === null ? toKindWords(each.kind) : say('Drill')}</td>
                <td>
                  <AppliedCount {...each} />
                </td>
                <td class="number">{each.expected === 0 ? '–' : showMs(each.elapsed_ms)}</td>
                <td class="number extra">
                  <time dateTime={each.at}>{formatMoment(each.at)}</time>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cursor !== null && (
        <p class="caption">
          <button type="button" onClick={list.loadMore}>
            {say('Older')}
          </button>
        </p>
      )}
    </section>
  )
}

const RECEIPT_MS = 3000

/** One receipt. It is loaded again until the service says that it is final. */
function OneReceipt({ siteId, seq }: SiteProps & { readonly seq: string }): JSX.Element {
  const [isFinal, setIsFinal] = useState(false)
  const { value: text, fault } = useLoad(
    `${siteId} ${seq}`,
    async (signal) => {
      const found = await call<Receipt>(`/api/sites/${siteId}/receipts/${encodeURIComponent(seq)}`, {
        site: siteId,
        signal,
      })
      setIsFinal(found.final)
      return JSON.stringify(found)
    },
    { everyMs: isFinal ? undefined : RECEIPT_MS },
  )
  const receipt = text === undefined ? undefined : (JSON.parse(text) as Receipt)
  return (
    <div class="paper-column">
      <p class="back no-print">
        <a href={sitePath(siteId, 'receipts') + location.search}>{say('All receipts')}</a>
      </p>
      {receipt === undefined ? (
        <p class={fault === undefined ? 'meta' : 'fault'} role={fault === undefined ? undefined : 'alert'}>
          {fault ?? say('Asking the service…')}
        </p>
      ) : (
        <CheckedPaper siteId={siteId} receipt={receipt} text={text ?? ''} />
      )}
    </div>
  )
}

interface CheckedPaperProps extends SiteProps {
  readonly receipt: Receipt
  readonly text: string
}

function CheckedPaper({ siteId, receipt, text }: CheckedPaperProps): JSX.Element {
  const check = useCheck(receipt, text)
  return (
    <>
      <Paper siteId={siteId} receipt={receipt} check={check} title={say('Countersign receipt')} />
      <PaperActs>
        <button type="button" onClick={() => saveFile(toFileName(siteId, receipt), text, 'application/json')}>
          <Icon name="download" /> {say('Download JSON')}
        </button>
        <AsCommand
          curl={{ path: `/api/sites/${siteId}/receipts/${receipt.seq}` }}
          cli={toCli(['receipts', String(receipt.seq)], { site: siteId })}
        />
      </PaperActs>
    </>
  )
}

/** Checks a file of this computer. It is read here, and not sent anywhere. */
function CheckFile(): JSX.Element {
  const [check, setCheck] = useState<DocumentCheck>()
  const [name, setName] = useState<string>()
  const run = async (text: string) => {
    setCheck(undefined)
    try {
      const { checkDocumentText } = await import('../log/check-document.ts')
      setCheck(await checkDocumentText(text))
    } catch (thrown) {
      setCheck({ ok: false, why: describe(thrown) })
    }
  }
  return (
    <section class="card check-file">
      <h2>{say('Check a file')}</h2>
      <p class="meta">
        {say(
          'Choose a receipt or a report that was downloaded. This browser checks its signature; the file is not sent.',
        )}
      </p>
      <label class="file">
        <span class="visually-hidden">{say('Receipt or report')}</span>
        <input
          type="file"
          accept="application/json,.json"
          onChange={async (event) => {
            const file = event.currentTarget.files?.[0]
            if (file === undefined) return
            setCheck(undefined)
            setName(file.name)
            await run(await file.text())
          }}
        />
      </label>
      {name !== undefined && <CheckLine check={check} />}
      {check?.ok === true && (
        <p class="meta">
          {sayCount(
            check.receipt.expected,
            '{kind} at {site}, entry {seq}: {acknowledged} of {count} verifier.',
            '{kind} at {site}, entry {seq}: {acknowledged} of {count} verifiers.',
            {
              kind: check.type === 'drill' ? say('A drill') : toKindWords(check.receipt.kind),
              site: check.receipt.site_id,
              seq: check.receipt.seq,
              acknowledged: check.receipt.acknowledged,
            },
          )}
        </p>
      )}
    </section>
  )
}
