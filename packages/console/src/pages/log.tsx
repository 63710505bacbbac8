import type { LogEntry } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { toTypedCommand } from '../api/doors.ts'
import { AsCommand } from '../components/as-command.tsx'
import { Icon, Seal } from '../components/icon.tsx'
import { shorten } from '../components/id.tsx'
import { saveFile } from '../components/save-file.ts'
import { StateMark } from '../components/state.tsx'
import { JsonView } from '../evidence/json-view.tsx'
import { findTarget, hasReceipt, isDrill, KIND_GROUPS, toKindWords } from '../evidence/words.ts'
import { type Shown, useLog, verified } from '../log/use-log.ts'
import type { VerifiedLog } from '../log/verify-log.ts'
import { open, place, setQuery, sitePath } from '../router.ts'
import { formatCount, say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration, formatExact, formatMoment } from '../time.ts'

const ROWS = 100

/** The log, newest first. Hashes and signatures are computed in this browser. */
export function Log({ siteId }: SiteProps): JSX.Element {
  const shown = useLog(siteId)
  const { query, id } = place.value
  const group = KIND_GROUPS.find(([name]) => name === query.get('kind'))
  const [rows, setRows] = useState(ROWS)
  const entries = shown.log?.entries ?? []
  const fitting = group === undefined ? entries : entries.filter(({ kind }) => group[2].test(kind))
  const opened = id === undefined ? undefined : entries.find(({ seq }) => String(seq) === id)
  const toPath = (seq: number) => sitePath(siteId, 'log', String(seq)) + location.search
  const wrongSeq = shown.log?.fault?.seq
  const count = Math.min(rows, fitting.length)
  // While older entries are verified, the rows stay the same, and are not drawn again.
  const shownRows = useMemo(
    () =>
      fitting
        .slice(0, count)
        .map((entry) => (
          <Row
            key={entry.seq}
            entry={entry}
            href={toPath(entry.seq)}
            isOpen={String(entry.seq) === id}
            isWrong={wrongSeq === entry.seq}
          />
        )),
    [fitting[0]?.hash, fitting[count - 1]?.hash, count, id, wrongSeq, location.search],
  )
  return (
    <>
      <ProofCard siteId={siteId} {...shown} />
      <div class="filters">
        <fieldset class="choices">
          <legend class="visually-hidden">{say('Kind')}</legend>
          {[['', say('All kinds')] as const, ...KIND_GROUPS].map(([name, word]) => (
            <button
              key={name}
              type="button"
              aria-pressed={(query.get('kind') ?? '') === name}
              onClick={() => {
                setRows(ROWS)
                setQuery({ kind: name })
              }}
            >
              {word}
            </button>
          ))}
        </fieldset>
        <span class="grow" />
        <form
          class="jump"
          onSubmit={(event) => {
            event.preventDefault()
            const seq = Number(new FormData(event.currentTarget).get('seq'))
            if (Number.isSafeInteger(seq) && seq > 0) open(toPath(seq))
          }}
        >
          <input
            name="seq"
            inputMode="numeric"
            pattern="[0-9]+"
            aria-label={say('Jump to entry')}
            placeholder={say('Jump to entry')}
          />
        </form>
        <button
          type="button"
          disabled={entries.length === 0}
          onClick={() => saveFile(`log-${siteId}.ndjson`, toLines(entries), 'application/x-ndjson')}
        >
          <Icon name="download" /> {say('Download')}
        </button>
        <AsCommand
          curl={[
            { path: `/api/sites/${siteId}/log` },
            { path: `/api/sites/${siteId}/head`, query: { observe: 1 } },
          ]}
          cli={toCli(['log'], { site: siteId })}
        />
      </div>
      <div class={id === undefined ? 'log-split' : 'log-split with-entry'}>
        <section class="card flush">
          <table class="chain-table">
            <thead>
              <tr>
                <th scope="col" class="link-cell">
                  <span class="visually-hidden">{say('Verified')}</span>
                </th>
                <th scope="col">{say('Entry')}</th>
                <th scope="col">{say('Kind')}</th>
                <th scope="col" class="extra">
                  {say('Subject')}
                </th>
                <th scope="col" class="number">
                  {say('Time, UTC')}
                </th>
                <th scope="col" class="number extra">
                  {say('Hash')}
                </th>
              </tr>
            </thead>
            <tbody>{shownRows}</tbody>
          </table>
          <p class="caption">{toCaption(shown, fitting.length, rows, group?.[1])}</p>
        </section>
        {id !== undefined && (
          <Entry siteId={siteId} id={id} entry={opened} log={shown.log} isRunning={shown.isRunning} />
        )}
      </div>
      {fitting.length > rows && (
        <button type="button" class="more" onClick={() => setRows(rows + ROWS)}>
          {say('Older')}
        </button>
      )}
      {fitting.length <= rows && shown.log?.cursor && (
        <button type="button" class="more" disabled={shown.isRunning} onClick={shown.readOlder}>
          {say('Verify older entries')}
        </button>
      )}
    </>
  )
}

function toLines(entries: readonly LogEntry[]): string {
  return entries
    .toReversed()
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join('')
}

function toCaption({ log, isRunning }: Shown, count: number, rows: number, word: string | undefined): string {
  if (log === undefined) return say('Reading the log…')
  if (log.fault !== undefined) return say('The list ends here: what comes before cannot be relied on.')
  const values = {
    shown: formatCount(Math.min(rows, count)),
    all: formatCount(count),
    kind: word?.toLowerCase() ?? '',
    verified: formatCount(log.entries.length),
  }
  if (log.cursor === null && !isRunning)
    return word === undefined
      ? say('{shown} of {all} entries.', values)
      : say('{shown} of {all} entries of the kind {kind}.', values)
  return word === undefined
    ? say('{shown} of {all} entries, among the newest {verified} that were verified.', values)
    : say(
        '{shown} of {all} entries of the kind {kind}, among the newest {verified} that were verified.',
        values,
      )
}

interface RowProps {
  readonly entry: LogEntry
  readonly href: string
  readonly isOpen: boolean
  readonly isWrong: boolean
}

function Row({ entry, href, isOpen, isWrong }: RowProps): JSX.Element {
  const target = findTarget(entry)
  return (
    <tr class={isWrong ? 'wrong' : isOpen ? 'chosen' : undefined}>
      <td class="link-cell">
        <svg
          class={isWrong ? 'link wrong' : 'link'}
          width="14"
          height="38"
          viewBox="0 0 14 38"
          aria-hidden="true"
        >
          <path class="chain-line" d="M7 0v38" />
          {isWrong ? (
            <path class="chain-node" d="M2 14l10 10M12 14L2 24" />
          ) : (
            <rect class="chain-node" x="3" y="12" width="8" height="14" rx="4" />
          )}
        </svg>
        <span class="visually-hidden">{isWrong ? say('Wrong') : say('Verified')}</span>
      </td>
      <td class="seq">
        <a href={href} aria-current={isOpen ? 'true' : undefined}>
          {entry.seq}
        </a>
      </td>
      <td>{isDrill(entry) ? say('Drill') : toKindWords(entry.kind)}</td>
      <td class="extra">{target !== undefined && <code title={target}>{shorten(target)}</code>}</td>
      <td class="number">
        <time dateTime={entry.at}>{formatMoment(entry.at)}</time>
      </td>
      <td class="number extra">
        <code class="hash" title={entry.hash}>
          {`${entry.hash.slice(0, 4)}…${entry.hash.slice(-4)}`}
        </code>
      </td>
    </tr>
  )
}

/** What this browser has proven, and how far it is. */
function ProofCard({ siteId, log, isRunning, tookMs, fault }: Shown & SiteProps): JSX.Element {
  const head = log?.head
  const total = head === undefined ? 0 : head.seq - (log?.base ?? 0)
  const done = log?.entries.length ?? 0
  const wrong = log?.fault
  const isWhole =
    log !== undefined && !isRunning && wrong === undefined && fault === undefined && head !== undefined
  const share = total === 0 ? (isWhole ? 1 : 0) : Math.min(1, done / total)
  const since = verified.get(siteId)?.since
  return (
    <section class={wrong === undefined ? 'card proof' : 'card proof wrong'} aria-label={say('Proof')}>
      <Seal isProven={isWhole} size={52} />
      <div>
        <h1>{toProofTitle({ log, isRunning, tookMs, fault }, done, total)}</h1>
        {wrong !== undefined ? (
          <p class="meta" role="alert">
            {say('Do not rely on it or on older entries. Compare with another node, and keep this page.')}
          </p>
        ) : fault !== undefined ? (
          <p class="meta" role="alert">
            <bdi>{fault}</bdi> {say('What follows was verified before.')}
          </p>
        ) : (
          <ul>
            {head !== undefined && (
              <li>
                <StateMark tone={isWhole ? 'good' : 'none'} />
                <span>
                  {say('Head {seq} signed by feed key {kid}', {
                    seq: head.seq,
                    kid: <code title={head.kid}>{shorten(head.kid)}</code>,
                  })}
                </span>
              </li>
            )}
            {isWhole && since !== undefined && (
              <li>
                <StateMark tone="good" />
                <span>
                  {say('Same log that this page has followed since {time}', { time: formatMoment(since) })}
                </span>
              </li>
            )}
            {isWhole && (
              <li>
                <StateMark tone="good" />
                <span>{say('Took {duration}', { duration: formatDuration(tookMs) })}</span>
              </li>
            )}
            {log !== undefined && log.base > 0 && (
              <li>
                <StateMark tone="none" />
                <span>{say('Entries up to {base} are no longer kept', { base: formatCount(log.base) })}</span>
              </li>
            )}
          </ul>
        )}
      </div>
      <svg
        class="progress"
        viewBox="0 0 1000 6"
        preserveAspectRatio="none"
        role="progressbar"
        aria-label={say('Verified entries')}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
      >
        <rect class="fill-sunken" width="1000" height="6" />
        <rect
          class={wrong === undefined ? (isWhole ? 'fill-green' : 'fill-2') : 'fill-red'}
          width={1000 * share}
          height="6"
        />
      </svg>
    </section>
  )
}

const HASH = 'hash'

function toProofTitle({ log, isRunning, fault }: Shown, done: number, total: number): string {
  if (log?.fault !== undefined) return say('Entry {seq} {why}.', { seq: log.fault.seq, why: log.fault.why })
  if (fault !== undefined) return say('Not verified: the service did not answer.')
  if (log === undefined) return say('Reading the log…')
  const hashes = say('{done} of {total} hashes', { done: formatCount(done), total: formatCount(total) })
  return isRunning
    ? say('Verifying in your browser: {hashes}', { hashes })
    : say('Verified in your browser: {hashes}', { hashes })
}

interface EntryProps extends SiteProps {
  readonly id: string
  readonly entry: LogEntry | undefined
  readonly log: VerifiedLog | undefined
  readonly isRunning: boolean
}

/** One entry, opened beside the list. */
function Entry({ siteId, id, entry, log, isRunning }: EntryProps): JSX.Element {
  const isWrong = log?.fault !== undefined && String(log.fault.seq) === id
  return (
    <aside class="card entry" aria-label={say('Entry {id}', { id })}>
      <div class="row">
        <h2>{say('Entry {id}', { id })}</h2>
        <span class="acts">
          {entry !== undefined && hasReceipt(entry.kind) && (
            <a href={sitePath(siteId, 'receipts', id)}>{say('Receipt')}</a>
          )}
          <a
            class="close"
            href={sitePath(siteId, 'log') + location.search}
            aria-label={say('Close the entry')}
          >
            <Icon name="close" />
          </a>
        </span>
      </div>
      {entry === undefined ? (
        <p class="meta">
          {isWrong
            ? say('This entry {why}.', { why: log?.fault?.why })
            : isRunning
              ? say('This entry has not been verified yet.')
              : say('No verified entry has this number.')}
        </p>
      ) : (
        <>
          <JsonView value={entry} />
          <ul class="marks">
            {isWrong ? (
              <li>
                <StateMark tone="bad" size={14} /> {say('This entry {why}.', { why: log?.fault?.why })}
              </li>
            ) : (
              <>
                <li>
                  <StateMark tone="good" size={14} />
                  <span>
                    {say('{field} equals the SHA-256 of the canonical entry', {
                      field: <strong>{HASH}</strong>,
                    })}
                  </span>
                </li>
                <li>
                  <StateMark tone="good" size={14} />
                  <span>
                    {log?.head?.seq === entry.seq
                      ? say('{head} of the log, signed at {time}', {
                          head: <strong>{say('Head')}</strong>,
                          time: formatExact(log.head.asOf),
                        })
                      : say('{field} equals the prev_hash of entry {seq}', {
                          field: <strong>{HASH}</strong>,
                          seq: entry.seq + 1,
                        })}
                  </span>
                </li>
              </>
            )}
          </ul>
          <p class="label">{say('The same on the command line')}</p>
          <div class="command">
            <code>
              {toTypedCommand(
                toCli(['log'], {
                  site: siteId,
                  before: `${entry.epoch}.${entry.seq + 1}`,
                  limit: 1,
                  json: true,
                }),
              )}
            </code>
          </div>
        </>
      )}
    </aside>
  )
}
