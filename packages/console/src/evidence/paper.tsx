import type { AuditRow, LogEntry, LogPage, Receipt } from '@countersign/core/contract'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { useLoad } from '../api/use-load.ts'
import { Strip, StripAxis } from '../charts/strip.tsx'
import { Actor } from '../components/actor.tsx'
import { Icon, Seal } from '../components/icon.tsx'
import { StateMark, type Tone } from '../components/state.tsx'
import { serviceNowMs } from '../live.ts'
import type { DocumentCheck } from '../log/check-document.ts'
import { describeLate } from '../revoke/late.tsx'
import { describe } from '../revoke/state.ts'
import { sitePath } from '../router.ts'
import { dateLocale, say, sayCount, sayList } from '../say.ts'
import { formatDuration, formatExact, formatMoment } from '../time.ts'
import { findTarget, isRevocation, joinNames, toAppliedMs, toKindWords, toSubject } from './words.ts'

/** What the page knows of an entry besides its receipt. Null when it could not be loaded. */
interface Context {
  readonly entry: LogEntry | null
  /** Whether the hash of the entry, computed here, is the one in the receipt. */
  readonly isEntryProven: boolean
  readonly audit: AuditRow | null
}

async function loadContext(siteId: string, receipt: Receipt, signal: AbortSignal): Promise<Context> {
  const { epoch, seq, at } = receipt
  const atMs = Date.parse(at)
  const options = { site: siteId, signal }
  const page = await call<LogPage>(`/api/sites/${siteId}/log`, {
    ...options,
    query: { after: `${epoch}.${seq - 1}`, limit: 1 },
  }).catch(() => undefined)
  const entry = page?.items[0]?.seq === seq ? page.items[0] : null
  const findRow = async (target: string | undefined): Promise<AuditRow | undefined> => {
    const rows = await call<{ items: readonly AuditRow[] }>(`/api/sites/${siteId}/audit`, {
      ...options,
      query: {
        target,
        from: new Date(atMs - 30_000).toISOString(),
        to: new Date(atMs + 30_000).toISOString(),
        limit: 200,
      },
    }).catch(() => undefined)
    return rows?.items.find((row) => row.seq === seq)
  }
  // At a busy site the row is not among the newest of that minute. Some rows, such as those of
  // drills, are about another target than their entry.
  const target = entry === null ? undefined : findTarget(entry)
  const audit = (target && (await findRow(target))) || (await findRow(undefined)) || null
  const { matchesEntry } = await import('../log/check-document.ts')
  return {
    entry,
    isEntryProven: entry !== null && (await matchesEntry(entry, receipt)),
    audit,
  }
}

/** Checks a signed document in this browser. Undefined until it is known. */
export function useCheck(value: unknown, key: string): DocumentCheck | undefined {
  const [check, setCheck] = useState<{ readonly key: string; readonly is: DocumentCheck }>()
  useEffect(() => {
    let isCurrent = true
    const run = async () => {
      const { checkDocument } = await import('../log/check-document.ts')
      return checkDocument(value)
    }
    run().then(
      (is) => isCurrent && setCheck({ key, is }),
      (thrown: unknown) => isCurrent && setCheck({ key, is: { ok: false, why: describe(thrown) } }),
    )
    return () => {
      isCurrent = false
    }
  }, [key])
  return check?.key === key ? check.is : undefined
}

interface PaperProps {
  readonly siteId: string
  readonly receipt: Receipt
  /** The result for the document that contains the receipt. */
  readonly check: DocumentCheck | undefined
  readonly title: string
  /** More rows at the top, for a drill. */
  readonly facts?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A receipt as a paper, checked in this browser. It prints on one page, black on white. */
export function Paper({ siteId, receipt, check, title, facts, children }: PaperProps): JSX.Element {
  const { value: context } = useLoad(`${siteId} ${receipt.seq} ${receipt.signature}`, (signal) =>
    loadContext(siteId, receipt, signal),
  )
  const isValid = check?.ok === true
  const written = <time dateTime={receipt.as_of}>{formatExact(receipt.as_of)}</time>
  return (
    <article class="paper" aria-label={say('{title}, entry {seq}', { title, seq: receipt.seq })}>
      <header>
        <div>
          <p class="label">{title}</p>
          <h2>{say('Entry {seq}', { seq: receipt.seq })}</h2>
          <p class="meta">{sayList([siteId, formatDay(receipt.at)])}</p>
        </div>
        <Seal isProven={isValid && isDenied(receipt)} size={72} />
      </header>
      <p class="sentence">
        <ReceiptSentence receipt={receipt} />
      </p>
      <dl class="sheet-facts">
        {facts}
        <Fact word={receipt.drill_id === null ? say('What') : say('Drill')}>
          {toKindWords(receipt.kind)}
          {context?.entry && (
            <>
              {' '}
              <code>{findTarget(context.entry)}</code>
            </>
          )}
        </Fact>
        {context?.audit?.reason && (
          <Fact word={say('Reason')}>
            <bdi>{context.audit.reason}</bdi>
          </Fact>
        )}
        {context?.audit && (
          <Fact word={say('By')}>
            <Actor {...context.audit.actor} />
          </Fact>
        )}
        <Fact word={say('Committed at')}>
          <time dateTime={receipt.committed_at}>{formatExact(receipt.committed_at)}</time>
        </Fact>
        <Denied receipt={receipt} />
        <Fact word={say('Written')}>
          {receipt.final
            ? say('{time}, final', { time: written })
            : say('{time}, updated when a verifier catches up', { time: written })}
        </Fact>
      </dl>
      <VerifierTimes receipt={receipt} />
      <dl class="machine">
        <Fact word={say('entry')}>
          <a href={location.origin + sitePath(siteId, 'log', String(receipt.seq))}>{receipt.entry_hash}</a>
        </Fact>
        <Fact word={say('key')}>{receipt.kid}, Ed25519</Fact>
        <Fact word={say('signed')}>{receipt.signature}</Fact>
        <Fact word={say('check')}>countersign verify-receipt {toFileName(siteId, receipt)}</Fact>
      </dl>
      <CheckLine check={check} />
      {context !== undefined && context.entry !== null && !context.isEntryProven && (
        <p class="proof-line bad" role="alert">
          <StateMark tone="bad" size={14} /> {say('The entry in the log has another hash than this receipt.')}
        </p>
      )}
      {children}
    </article>
  )
}

/** The result of the check, in words. */
export function CheckLine({ check }: { readonly check: DocumentCheck | undefined }): JSX.Element {
  if (check === undefined)
    return (
      <p class="proof-line" role="status">
        <StateMark tone="none" size={14} /> {say('Checking the signature in this browser…')}
      </p>
    )
  return check.ok ? (
    <p class="proof-line good" role="status">
      <StateMark tone="good" size={14} /> {say('Signature valid, checked in this browser')}
    </p>
  ) : (
    <p class="proof-line bad" role="alert">
      <StateMark tone="bad" size={14} />{' '}
      {say('Invalid: {why} Do not rely on this paper.', { why: check.why })}
    </p>
  )
}

/** Print, download and more, under a paper. They are not printed. */
export function PaperActs({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="paper-acts no-print">
      <button type="button" onClick={() => print()}>
        <Icon name="print" /> {say('Print')}
      </button>
      {children}
    </p>
  )
}

export function toFileName(siteId: string, { seq, drill_id }: Pick<Receipt, 'seq' | 'drill_id'>): string {
  return `${drill_id === null ? 'receipt' : 'drill'}-${siteId}-${seq}.json`
}

function Fact({
  word,
  children,
}: {
  readonly word: string
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** "This revocation is durable as entry 1042. 11 of 12 verifiers have applied it, …" */
function ReceiptSentence({ receipt }: { readonly receipt: Receipt }): JSX.Element {
  const { seq, acknowledged, expected, verifiers } = receipt
  const times = verifiers.flatMap((each) => toAppliedMs(each) ?? [])
  const late = verifiers.filter(({ state }) => state !== 'acknowledged')
  const applied = <strong>{say('{acknowledged} of {expected}', { acknowledged, expected })}</strong>
  return (
    <>
      {say('{subject} is durable as {entries}.', {
        subject: toSubject(receipt),
        entries: <strong>{say('entry {seq}', { seq })}</strong>,
      })}{' '}
      {expected === 0 ? (
        say('No verifier followed the site.')
      ) : (
        <>
          {times.length === 0
            ? sayCount(
                expected,
                '{applied} verifier has applied it.',
                '{applied} verifiers have applied it.',
                {
                  applied,
                },
              )
            : sayCount(
                expected,
                '{applied} verifier has applied it, the last after {duration}.',
                '{applied} verifiers have applied it, the last after {duration}.',
                { applied, duration: <strong>{formatDuration(Math.max(...times))}</strong> },
              )}{' '}
          {sayLate(late)}
        </>
      )}
    </>
  )
}

type Late = Receipt['verifiers'][number]

function sayLate(late: readonly Late[]): ComponentChildren {
  if (late.length === 1 && late[0] !== undefined) return describeLate(late[0], late[0].fails_open)
  if (late.length === 0) return ''
  return say('{names} have not.', { names: joinNames(late.map(({ verifier_id }) => verifier_id)) })
}

function Denied({ receipt }: { readonly receipt: Receipt }): JSX.Element {
  const { denied_everywhere_at: at, denied_at_latest } = receipt
  const isChange = receipt.drill_id === null && !isRevocation(receipt.kind)
  if (at === null)
    return (
      <Fact word={isChange ? say('In effect everywhere') : say('Denied everywhere')}>
        <strong class="amber">{say('Not known: a verifier fails open.')}</strong>{' '}
        {say('All others deny from {time} on.', { time: formatExact(denied_at_latest) })}
      </Fact>
    )
  const isPast = isDenied(receipt)
  const word = isChange
    ? isPast
      ? say('In effect everywhere at')
      : say('In effect everywhere by')
    : isPast
      ? say('Denied everywhere at')
      : say('Denied everywhere by')
  return (
    <Fact word={word}>
      <strong class={isPast ? 'green' : undefined}>
        <time dateTime={at}>{formatExact(at)}</time>
      </strong>
    </Fact>
  )
}

/** Whether the time from which access is denied everywhere has passed. */
function isDenied({ denied_everywhere_at: at, as_of }: Receipt): boolean {
  return at !== null && Date.parse(at) <= Math.max(Date.parse(as_of), serviceNowMs())
}

const TONES: Readonly<Record<Late['state'], Tone>> = {
  acknowledged: 'good',
  waiting: 'late',
  silent: 'silent',
  not_connected: 'soon',
  gone: 'gone',
}

/** Milliseconds for each verifier: one picture, and every number in a table. */
function VerifierTimes({ receipt }: { readonly receipt: Receipt }): JSX.Element | null {
  const { verifiers, expected, acknowledged } = receipt
  if (verifiers.length === 0) return null
  const sorted = verifiers.toSorted(
    (a, b) =>
      (toAppliedMs(a) ?? Infinity) - (toAppliedMs(b) ?? Infinity) ||
      a.verifier_id.localeCompare(b.verifier_id),
  )
  const times = verifiers.flatMap((each) => toAppliedMs(each) ?? [])
  const hasDenied = verifiers.some(({ first_denied_ms }) => typeof first_denied_ms === 'number')
  return (
    <section class="times" aria-label={say('Verifiers')}>
      <div class="times-picture">
        <StripAxis />
        <Strip ticks={times} isComplete={acknowledged === expected} />
      </div>
      <table class={`applied-list ${hasDenied ? 'long' : verifiers.length > 24 ? 'many' : ''}`}>
        <thead class="visually-hidden">
          <tr>
            <th scope="col">{say('Verifier')}</th>
            <th scope="col">{say('Applied after')}</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((each) => (
            <tr
              key={`${each.verifier_id} ${each.instance_id}`}
              class={toAppliedMs(each) === null ? 'late' : undefined}
            >
              <th scope="row" title={each.instance_id ?? undefined}>
                {each.state !== 'acknowledged' && <StateMark tone={TONES[each.state]} />} {each.verifier_id}
              </th>
              <td class="number">{describeTime(each)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {expected > verifiers.length && (
        <p class="meta">
          {say('{count} more are counted and not listed.', { count: expected - verifiers.length })}
        </p>
      )}
    </section>
  )
}

/** `12 ms`, and when it first denied what was revoked, if it has reported that. */
function describeTime(each: Late): string {
  const ms = toAppliedMs(each)
  if (ms === null) return toShortState(each)
  const { first_denied_ms: denied } = each
  return denied === undefined || denied === null
    ? formatDuration(ms)
    : say('{applied}, denied at {denied}', {
        applied: formatDuration(ms),
        denied: formatDuration(denied),
      })
}

const SHORT: Readonly<Record<Late['state'], string>> = {
  acknowledged: say('applied'),
  waiting: say('waiting'),
  silent: say('silent'),
  not_connected: say('not connected'),
  gone: say('gone'),
}

function toShortState({ state, fails_open, rejects_from }: Late): string {
  if (state === 'acknowledged') return SHORT.acknowledged
  if (fails_open) return say('fails open')
  if (rejects_from !== null)
    return Date.parse(rejects_from) <= serviceNowMs()
      ? say('rejects')
      : say('rejects from {time}', { time: formatMoment(rejects_from) })
  return SHORT[state]
}

const day = new Intl.DateTimeFormat(dateLocale, { dateStyle: 'long', timeZone: 'UTC' })

function formatDay(time: string): string {
  return day.format(new Date(time))
}
