import type { PropagationReceipt } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { AsCommand } from '../components/as-command.tsx'
import { Icon, Seal } from '../components/icon.tsx'
import { Id } from '../components/id.tsx'
import { Pill, StateMark } from '../components/state.tsx'
import { loadWritten } from '../evidence/load-written.ts'
import { formatCount, joinNames } from '../evidence/words.ts'
import { serviceNowMs, tick, verifiers } from '../live.ts'
import { open, sitePath } from '../router.ts'
import { formatDuration, formatExact, formatMoment } from '../time.ts'
import { countAll, toCounts } from './counts.ts'
import { Head, takeFocus, Who } from './sheet-parts.tsx'
import { type Act, closeSheet, isComplete, isDeniedEverywhere } from './state.ts'
import { type Done, type DoneEntry, toCommand, toRequest, toWords } from './target.ts'

type Reported = PropagationReceipt['verifiers'][number]

interface ReceiptViewProps {
  readonly act: Act
  readonly done: Done
  readonly propagation: PropagationReceipt | undefined
}

/** The durable answer, which turns into a receipt as verifiers report that they have applied it. */
export function ReceiptView({ act, done, propagation }: ReceiptViewProps): JSX.Element {
  const { siteId, target, reason } = act
  const { seq } = done
  const isOver = seq === undefined || (propagation !== undefined && isComplete(propagation))
  // Whether a time has passed changes with the clock.
  void tick.value
  const isDenied = propagation !== undefined && isDeniedEverywhere(propagation)
  const openReceipt = (entry: number) => {
    closeSheet()
    open(sitePath(siteId, 'receipts', String(entry)))
  }
  const hasSeveral = done.entries.length > 1
  return (
    <div>
      <Head
        title={
          seq === undefined ? toWords(target).act : hasSeveral ? toTitles(done.entries) : `Receipt ${seq}`
        }
      />
      {/* It may have nothing that takes the focus, and must be scrolled with keys all the same. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls */}
      <section class="body" tabIndex={0} aria-label="Receipt">
        <Who siteId={siteId} target={target}>
          <DonePill act={act} done={done} />
        </Who>
        <div class="verdict">
          {seq !== undefined && <Seal isProven={isDenied} />}
          <div>
            <p class="lead">
              <Sentence act={act} done={done} propagation={propagation} />
            </p>
            {propagation !== undefined && <Missing propagation={propagation} />}
          </div>
        </div>
        {propagation !== undefined && <Banner propagation={propagation} isDenied={isDenied} />}
        {propagation !== undefined && propagation.verifiers.length > 0 && (
          <AppliedBy propagation={propagation} />
        )}
        {hasSeveral && <Entries entries={done.entries} onOpen={openReceipt} />}
        {seq !== undefined && (
          <Signature siteId={siteId} seqs={done.entries.map((each) => each.seq)} isDenied={isDenied} />
        )}
        <Announcement
          text={
            isDenied
              ? 'Denied everywhere'
              : propagation === undefined
                ? ''
                : `${toCounts(propagation)} verifiers`
          }
        />
      </section>
      <footer>
        <AsCommand curl={toRequest(siteId, target, reason)} cli={toCommand(siteId, target, reason)} />
        <span class="grow" />
        {seq !== undefined && !hasSeveral && (
          <button type="button" class="large" onClick={() => openReceipt(seq)}>
            Open receipt
          </button>
        )}
        <button type="button" class={isOver ? 'large primary' : 'large'} ref={takeFocus} onClick={closeSheet}>
          {isOver ? 'Done' : 'Close and keep watching'}
        </button>
      </footer>
    </div>
  )
}

function DonePill({ act: { target }, done }: Pick<ReceiptViewProps, 'act' | 'done'>): JSX.Element {
  if (target.kind === 'token' && done.count === 0) return <Pill tone="none">Nothing to revoke</Pill>
  return <Pill tone="bad">{toWords(target).done}</Pill>
}

function Sentence({ act: { target }, done, propagation }: ReceiptViewProps): JSX.Element {
  const { seq, entries, wasRevoked, count, notFound } = done
  if (seq === undefined) {
    if (target.kind === 'api_key')
      return <>The key is invalid from now on, and the streams that were open with it are closed.</>
    return target.kind === 'token' || target.kind === 'many' ? (
      <>There was nothing to revoke: what was named has expired, was revoked before or is not known.</>
    ) : (
      <>The change is durable. It appended no entry, because nothing had to change.</>
    )
  }
  return (
    <>
      {target.kind === 'many' ? (
        <>
          <strong>
            {count.toLocaleString('en')} {target.noun}
          </strong>{' '}
          {count === 1 ? 'was' : 'were'} revoked
          {target.targets.length - count - notFound > 0
            ? `, ${(target.targets.length - count - notFound).toLocaleString('en')} had been before`
            : ''}
          . This is durable up to <strong>entry {seq}</strong>.{' '}
        </>
      ) : wasRevoked ? (
        <>
          It was revoked before, as <strong>{nameEntries(entries)}</strong>.{' '}
        </>
      ) : (
        <>
          This {toNoun(target)} is durable as <strong>{nameEntries(entries)}</strong>
          {entries.length > 1 && ', one for each id of the user'}.{' '}
        </>
      )}
      This node denies. <Applied propagation={propagation} />
    </>
  )
}

function toNoun(target: Act['target']): string {
  if (target.kind === 'change') return target.noun
  return ['issuer', 'issuer_key', 'bearer'].includes(target.kind) ? 'change' : 'revocation'
}

/** `Receipts 12 and 13`, or their number if there are many. */
function toTitles(entries: readonly DoneEntry[]): string {
  if (entries.length > 3) return `${formatCount(entries.length)} receipts`
  return `Receipts ${joinNames(entries.map(({ seq }) => formatCount(seq)))}`
}

/** `entry 12`, `entries 12 and 13` */
function nameEntries(entries: readonly DoneEntry[]): string {
  const names = entries.map(({ seq }) => formatCount(seq))
  return `${names.length === 1 ? 'entry' : 'entries'} ${joinNames(names)}`
}

const ENTRIES_MAX = 20

/** Every entry of the act, with the way to its own receipt. */
function Entries({
  entries,
  onOpen,
}: {
  readonly entries: readonly DoneEntry[]
  readonly onOpen: (seq: number) => void
}): JSX.Element {
  const more = entries.length - ENTRIES_MAX
  return (
    <section>
      <h3>Entries</h3>
      <ul class="own-list entries">
        {entries.slice(0, ENTRIES_MAX).map(({ seq, id }) => (
          <li key={`${seq} ${id}`}>
            <span class="two-lines">
              <strong>Entry {formatCount(seq)}</strong>
              <Id value={id} />
            </span>
            <button type="button" aria-label={`Open the receipt of entry ${seq}`} onClick={() => onOpen(seq)}>
              Open receipt
            </button>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="meta">and {formatCount(more)} more, in the list of receipts</p>}
    </section>
  )
}

function Applied({ propagation }: Pick<ReceiptViewProps, 'propagation'>): JSX.Element {
  if (propagation === undefined) return <>Verifiers are being asked.</>
  const { verifiers: all } = propagation
  if (all.length === 0) return <>No verifier follows this site now.</>
  const times = all.flatMap((each) => toMs(each, propagation) ?? [])
  const isAll = times.length === countAll(propagation)
  return (
    <>
      <strong>{toCounts(propagation)}</strong> verifiers have applied it
      {times.length === 0
        ? ''
        : isAll || all.every(({ state }) => state !== 'waiting')
          ? ', the last after '
          : ' so far'}
      {times.length > 0 && (isAll || all.every(({ state }) => state !== 'waiting')) && (
        <strong>{formatDuration(Math.max(...times))}</strong>
      )}
      .
    </>
  )
}

/** Those that have not applied it, by name, with the time from which they reject everything. */
function Missing({ propagation }: { readonly propagation: PropagationReceipt }): JSX.Element {
  const missing = propagation.verifiers.filter(({ state }) => state !== 'acknowledged')
  const others = countAll(propagation) - propagation.verifiers.length + Math.max(0, missing.length - 4)
  return (
    <>
      {missing.slice(0, 4).map((each) => (
        <p class="missing" key={toKey(each)}>
          <strong>{each.verifier_id}</strong> {describeMissing(each, propagation)}
        </p>
      ))}
      {others > 0 && <p class="missing">and {others} more</p>}
    </>
  )
}

function failsOpen({ verifier_id, instance_id }: Reported, { exceptions }: PropagationReceipt): boolean {
  return exceptions.some((each) => each.verifier_id === verifier_id && each.instance_id === instance_id)
}

function describeMissing(each: Reported, propagation: PropagationReceipt): string {
  const { state, rejects_from } = each
  const isPast = rejects_from !== null && Date.parse(rejects_from) <= serviceNowMs()
  const time = rejects_from === null ? '' : formatMoment(rejects_from)
  const beginning =
    state === 'waiting'
      ? 'has not answered yet'
      : state === 'silent'
        ? 'is connected and does not answer'
        : 'is not connected'
  if (failsOpen(each, propagation)) return `${beginning} and fails open: it may accept what was revoked.`
  if (rejects_from === null) return `${beginning}. From when on it rejects everything is not known.`
  if (state !== 'not_connected')
    return isPast
      ? `${beginning}. It has rejected everything since ${time}.`
      : `${beginning}. Without an answer it rejects everything from ${time} on.`
  const since = findRejectedSince(each) ?? rejects_from
  return isPast
    ? `${beginning} and has rejected everything since ${formatMoment(since)}.`
    : `${beginning} and rejects everything from ${time} on.`
}

/** A verifier that had gone before the act has rejected everything for longer. */
function findRejectedSince({ verifier_id, instance_id }: Reported): string | undefined {
  const known = verifiers.value?.find(
    (each) => each.verifier_id === verifier_id && each.instance_id === instance_id,
  )
  return known?.rejects_everything_since ?? undefined
}

interface BannerProps {
  readonly propagation: PropagationReceipt
  readonly isDenied: boolean
}

function Banner({ propagation, isDenied }: BannerProps): JSX.Element {
  const { denied_everywhere_at, denied_at_latest, exceptions } = propagation
  if (denied_everywhere_at === null)
    return (
      <p class="banner amber">
        <span>
          <strong>Not denied everywhere.</strong>{' '}
          {[...new Set(exceptions.map(({ verifier_id }) => verifier_id))].join(', ')}{' '}
          {exceptions.length === 1 ? 'fails' : 'fail'} open, so no time is certain.
        </span>
      </p>
    )
  const time = isDenied ? denied_everywhere_at : toLater(denied_everywhere_at, denied_at_latest)
  return (
    <p class={isDenied ? 'banner green' : 'banner'}>
      <strong>{isDenied ? 'Denied everywhere at' : 'Denied everywhere no later than'}</strong>
      <time dateTime={time}>
        {formatExact(time)} <small>UTC</small>
      </time>
    </p>
  )
}

function toLater(one: string, other: string): string {
  return Date.parse(one) > Date.parse(other) ? one : other
}

const ROWS_MAX = 40

/** One bar for each verifier. A bar appears when its acknowledgement arrives, and never before. */
function AppliedBy({ propagation }: { readonly propagation: PropagationReceipt }): JSX.Element {
  const rows = propagation.verifiers
    .map((each) => ({ each, ms: toMs(each, propagation) }))
    .sort((a, b) => order(a) - order(b) || (a.ms ?? 0) - (b.ms ?? 0))
  const scale = toScale(Math.max(0, ...rows.map(({ ms }) => ms ?? 0)))
  return (
    <section class="applied-by">
      <div class="row">
        <h3>Applied by</h3>
        <span class="meta">{toCounts(propagation)} verifiers</span>
      </div>
      <Segments rows={rows} />
      <div class="axis" aria-hidden="true">
        {scale.ticks.map((tick, i) => (
          <span key={tick}>
            {i === scale.ticks.length - 1
              ? formatDuration(tick).replace('.0 s', ' s')
              : toTick(tick, scale.max)}
          </span>
        ))}
      </div>
      <ol class="bars">
        {rows.slice(0, ROWS_MAX).map(({ each, ms }) => (
          <li key={toKey(each)} class={ms === undefined ? toClass(each) : ''}>
            <span class="name" title={each.verifier_id}>
              {ms === undefined && each.state === 'not_connected' && <StateMark tone="gone" />}
              {each.verifier_id}
            </span>
            {ms === undefined && each.state !== 'waiting' ? (
              <em>{describeRow(each, propagation)}</em>
            ) : (
              <>
                <svg viewBox={`0 0 ${scale.max} 22`} preserveAspectRatio="none" aria-hidden="true">
                  {scale.ticks.map((at) => (
                    <path key={at} class="grid" vector-effect="non-scaling-stroke" d={`M${at} 0V22`} />
                  ))}
                  {ms !== undefined && (
                    <rect class="fill" y="6" width={Math.max(scale.max / 200, ms)} height="10" />
                  )}
                </svg>
                <span class="ms">{ms === undefined ? 'waiting' : formatDuration(ms)}</span>
              </>
            )}
          </li>
        ))}
      </ol>
      {rows.length > ROWS_MAX && <p class="meta">and {rows.length - ROWS_MAX} more</p>}
    </section>
  )
}

interface Row {
  readonly each: Reported
  readonly ms: number | undefined
}

function order({ each, ms }: Row): number {
  return ms !== undefined ? 0 : ['waiting', 'silent', 'not_connected'].indexOf(each.state) + 1
}

function toClass({ state }: Reported): string {
  return state === 'not_connected' ? 'lost' : state === 'silent' ? 'quiet-row' : 'pending'
}

function describeRow(each: Reported, propagation: PropagationReceipt): string {
  const word = each.state === 'not_connected' ? 'not connected' : 'silent'
  if (failsOpen(each, propagation)) return `${word}, fails open`
  if (each.rejects_from === null) return `${word}, not known from when on it rejects`
  const isPast = Date.parse(each.rejects_from) <= serviceNowMs()
  const time = isPast ? (findRejectedSince(each) ?? each.rejects_from) : each.rejects_from
  return `${word}, rejects everything ${isPast ? 'since' : 'from'} ${formatMoment(time)}`
}

/** One piece for each verifier, all in one line. */
function Segments({ rows }: { readonly rows: readonly Row[] }): JSX.Element {
  const width = 504 / rows.length
  const gap = Math.min(4, width / 3)
  return (
    <svg class="segments" viewBox="0 0 504 8" preserveAspectRatio="none" aria-hidden="true">
      {rows.map(({ each, ms }, i) => (
        <rect
          key={toKey(each)}
          class={ms !== undefined ? 'fill' : each.state === 'not_connected' ? 'lost' : 'rest'}
          x={i * width + 0.5}
          y="0.5"
          width={Math.max(0.5, width - gap - 1)}
          height="7"
          rx="2"
        />
      ))}
    </svg>
  )
}

/** Steps of 1, 2 or 5, so that the longest bar ends within five of them. */
function toScale(longest: number): { readonly max: number; readonly ticks: readonly number[] } {
  const least = Math.max(50, longest) / 5
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= least) ?? least
  return { max: 5 * step, ticks: [0, 1, 2, 3, 4, 5].map((n) => n * step) }
}

function toTick(ms: number, max: number): string {
  return max >= 5000 ? String(ms / 1000) : String(ms)
}

const CHECK_MS = 1500
const CHECKS_MAX = 8

/** The stored receipts, whose signatures this browser checks. They are written a second later. */
function Signature({
  siteId,
  seqs,
  isDenied,
}: {
  readonly siteId: string
  readonly seqs: readonly number[]
  readonly isDenied: boolean
}): JSX.Element | null {
  const [checked, setChecked] = useState<{ readonly kid: string; readonly isValid: boolean }>()
  const wanted = seqs.slice(-ENTRIES_MAX)
  useEffect(() => {
    if (!isDenied) return
    let timer: ReturnType<typeof setTimeout>
    const check = async (tries: number) => {
      const found = await loadWritten(siteId, wanted).catch(() => new Map<number, never>())
      const receipts = wanted.flatMap((seq) => found.get(seq) ?? [])
      const [first] = receipts
      if (first === undefined || receipts.length < wanted.length) {
        if (tries < CHECKS_MAX) timer = setTimeout(() => void check(tries + 1), CHECK_MS)
        return
      }
      const { checkDocument } = await import('../log/check-document.ts')
      const checks = await Promise.all(receipts.map((receipt) => checkDocument(receipt)))
      setChecked({ kid: first.kid, isValid: checks.every(({ ok }) => ok) })
    }
    void check(1)
    return () => clearTimeout(timer)
  }, [siteId, wanted.join(), isDenied])
  if (checked === undefined) return null
  return checked.isValid ? (
    <p class="signature">
      <Icon name="lock" />
      <span>
        Signed with feed key <code title={checked.kid}>{shortenKey(checked.kid)}</code>. Checked in this
        browser.
      </span>
    </p>
  ) : (
    <p class="fault" role="alert">
      The signature of the stored receipt does not match. Do not rely on it.
    </p>
  )
}

function shortenKey(kid: string): string {
  return kid.length <= 16 ? kid : `${kid.slice(0, 4)}…${kid.slice(-6)}`
}

const SPOKEN_MS = 5000

/** For screen readers: at most once in five seconds, and the last word is always said. */
function Announcement({ text }: { readonly text: string }): JSX.Element {
  const [spoken, setSpoken] = useState('')
  const lastMs = useRef(-Infinity)
  useEffect(() => {
    const timer = setTimeout(
      () => {
        lastMs.current = performance.now()
        setSpoken(text)
      },
      Math.max(0, lastMs.current + SPOKEN_MS - performance.now()),
    )
    return () => clearTimeout(timer)
  }, [text])
  return <output class="visually-hidden">{spoken}</output>
}

function toKey({ verifier_id, instance_id }: Reported): string {
  return `${verifier_id} ${instance_id}`
}

/**
 * By clocks of the service only. A verifier may acknowledge before the commit time was read, and
 * one that connected with the entry has no time of its own.
 */
function toMs(
  { state, acknowledged_at, applied_ms }: Reported,
  { committed_at }: PropagationReceipt,
): number | undefined {
  if (state !== 'acknowledged') return undefined
  if (applied_ms !== null) return applied_ms
  return acknowledged_at === null ? 0 : Math.max(0, Date.parse(acknowledged_at) - Date.parse(committed_at))
}
