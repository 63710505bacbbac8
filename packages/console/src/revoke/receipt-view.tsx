import type { PropagationReceipt } from '@countersign/core/contract'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { AsCommand } from '../components/as-command.tsx'
import { Icon, Seal } from '../components/icon.tsx'
import { Id } from '../components/id.tsx'
import { Pill } from '../components/state.tsx'
import { loadWritten } from '../evidence/load-written.ts'
import { joinNames } from '../evidence/words.ts'
import { tick } from '../live.ts'
import { open, sitePath } from '../router.ts'
import { formatCount, say, sayCount } from '../say.ts'
import { formatDuration, formatUtc, toZones } from '../time.ts'
import { AppliedBy } from './applied-by.tsx'
import { countAll, toCounts } from './counts.ts'
import { describeLate } from './late.tsx'
import { failsOpen, findRejectedSince, toKey, toMs } from './reported.ts'
import { CloseAct, Head, Who } from './sheet-parts.tsx'
import { type Act, closeSheet, isComplete, isDeniedEverywhere } from './state.ts'
import { countTargets, type Done, type DoneEntry, toCommand, toRequest, toWords } from './target.ts'

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
          seq === undefined
            ? toWords(target).act
            : hasSeveral
              ? toTitles(done.entries)
              : say('Receipt {seq}', { seq })
        }
      />
      {/* It may have nothing that takes the focus, and must be scrolled with keys all the same. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls */}
      <section class="body" tabIndex={0} aria-label={say('Receipt')}>
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
              ? say('Denied everywhere')
              : propagation === undefined
                ? ''
                : say('{counts} verifiers', { counts: toCounts(propagation) })
          }
        />
      </section>
      <footer>
        <AsCommand curl={toRequest(siteId, target, reason)} cli={toCommand(siteId, target, reason)} />
        <span class="grow" />
        {seq !== undefined && (
          <button type="button" class="large" onClick={() => openReceipt(seq)}>
            {hasSeveral ? say('Open receipts') : say('Open receipt')}
          </button>
        )}
        <CloseAct class={isOver ? 'large primary' : 'large'}>
          {isOver ? say('Done') : say('Close and keep watching')}
        </CloseAct>
      </footer>
    </div>
  )
}

function DonePill({ act: { target }, done }: Pick<ReceiptViewProps, 'act' | 'done'>): JSX.Element {
  if (target.kind === 'token' && done.count === 0) return <Pill tone="none">{say('Nothing to revoke')}</Pill>
  return <Pill tone="bad">{toWords(target).done}</Pill>
}

function Sentence({ act: { target }, done, propagation }: ReceiptViewProps): JSX.Element {
  const { seq, entries, wasRevoked, count, notFound } = done
  if (seq === undefined) {
    if (target.kind === 'api_key')
      return <>{say('The key is invalid from now on, and the streams that were open with it are closed.')}</>
    return (
      <>
        {target.kind === 'token' || target.kind === 'many'
          ? say(
              'There was nothing to revoke: what was named has expired, was revoked before or is not known.',
            )
          : say('The change is durable. It appended no entry, because nothing had to change.')}
      </>
    )
  }
  const before = target.kind === 'many' ? target.targets.length - count - notFound : 0
  return (
    <>
      {target.kind === 'many'
        ? sayMany(countTargets(count, target.noun), count, before, seq)
        : wasRevoked
          ? say('It was revoked before, as {entries}.', { entries: <strong>{nameEntries(entries)}</strong> })
          : entries.length > 1
            ? say('{subject} is durable as {entries}, one for each id of the user.', {
                subject: toSubject(target),
                entries: <strong>{nameEntries(entries)}</strong>,
              })
            : say('{subject} is durable as {entries}.', {
                subject: toSubject(target),
                entries: <strong>{nameEntries(entries)}</strong>,
              })}{' '}
      {say('This node denies.')} <Applied propagation={propagation} />
    </>
  )
}

function sayMany(targets: string, count: number, before: number, seq: number): ComponentChildren {
  const values = {
    targets: <strong>{targets}</strong>,
    entry: <strong>{say('entry {seq}', { seq })}</strong>,
  }
  return before > 0
    ? sayCount(
        count,
        '{targets} was revoked, {before} had been before. This is durable up to {entry}.',
        '{targets} were revoked, {before} had been before. This is durable up to {entry}.',
        { ...values, before: formatCount(before) },
      )
    : sayCount(
        count,
        '{targets} was revoked. This is durable up to {entry}.',
        '{targets} were revoked. This is durable up to {entry}.',
        values,
      )
}

function toSubject(target: Act['target']): string {
  if (target.kind === 'change') return target.subject
  return ['issuer', 'issuer_key', 'bearer'].includes(target.kind)
    ? say('This change')
    : say('This revocation')
}

/** `Receipts 12 and 13`, or their number if there are many. */
function toTitles(entries: readonly DoneEntry[]): string {
  if (entries.length > 3) return say('{count} receipts', { count: formatCount(entries.length) })
  return say('Receipts {names}', { names: joinNames(entries.map(({ seq }) => String(seq))) })
}

/** `entry 12`, `entries 12 and 13` */
function nameEntries(entries: readonly DoneEntry[]): string {
  const names = entries.map(({ seq }) => String(seq))
  return names.length === 1
    ? say('entry {seq}', { seq: names[0] ?? '' })
    : say('entries {names}', { names: joinNames(names) })
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
      <h3>{say('Entries')}</h3>
      <ul class="own-list entries">
        {entries.slice(0, ENTRIES_MAX).map(({ seq, id }) => (
          <li key={`${seq} ${id}`}>
            <span class="two-lines">
              <strong>{say('Entry {seq}', { seq })}</strong>
              <Id value={id} />
            </span>
            <button
              type="button"
              aria-label={say('Open receipt of entry {seq}', { seq })}
              onClick={() => onOpen(seq)}
            >
              {say('Open receipt')}
            </button>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p class="meta">{say('and {more} more, in the list of receipts', { more: formatCount(more) })}</p>
      )}
    </section>
  )
}

function Applied({ propagation }: Pick<ReceiptViewProps, 'propagation'>): JSX.Element {
  if (propagation === undefined) return <>{say('Verifiers are being asked.')}</>
  const { verifiers: all } = propagation
  if (all.length === 0) return <>{say('No verifier follows this site now.')}</>
  const times = all.flatMap((each) => toMs(each, propagation) ?? [])
  const isAll = times.length === countAll(propagation)
  const counts = <strong>{toCounts(propagation)}</strong>
  if (times.length === 0) return <>{say('{counts} verifiers have applied it.', { counts })}</>
  return (
    <>
      {isAll || all.every(({ state }) => state !== 'waiting')
        ? say('{counts} verifiers have applied it, the last after {duration}.', {
            counts,
            duration: <strong>{formatDuration(Math.max(...times))}</strong>,
          })
        : say('{counts} verifiers have applied it so far.', { counts })}
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
          {describeLate(each, failsOpen(each, propagation), findRejectedSince(each))}
        </p>
      ))}
      {others > 0 && <p class="missing">{say('and {others} more', { others })}</p>}
    </>
  )
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
          <strong>{say('Not denied everywhere.')}</strong>{' '}
          {sayCount(
            exceptions.length,
            '{names} fails open, so no time is certain.',
            '{names} fail open, so no time is certain.',
            { names: [...new Set(exceptions.map(({ verifier_id }) => verifier_id))].join(', ') },
          )}
        </span>
      </p>
    )
  const time = isDenied ? denied_everywhere_at : toLater(denied_everywhere_at, denied_at_latest)
  return (
    <p class={isDenied ? 'banner green' : 'banner'}>
      <strong>{isDenied ? say('Denied everywhere at') : say('Denied everywhere no later than')}</strong>
      <time dateTime={time}>
        {formatUtc(time)} <small>{toZones(time)}</small>
      </time>
    </p>
  )
}

function toLater(one: string, other: string): string {
  return Date.parse(one) > Date.parse(other) ? one : other
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
        {say('Signed with feed key {kid}. Checked in this browser.', {
          kid: <code title={checked.kid}>{shortenKey(checked.kid)}</code>,
        })}
      </span>
    </p>
  ) : (
    <p class="fault" role="alert">
      {say('The signature of the stored receipt does not match. Do not rely on it.')}
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
