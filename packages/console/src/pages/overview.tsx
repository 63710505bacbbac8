import type { ApiKey, AuditRow, LogEntry, LogPage, Receipt, Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { mayRevoke } from '../api/session.ts'
import { useLoad } from '../api/use-load.ts'
import { Strip, StripAxis } from '../charts/strip.tsx'
import { AppliedCount } from '../components/applied.tsx'
import { AsCommand } from '../components/as-command.tsx'
import { Fault } from '../components/fault.tsx'
import { shorten } from '../components/id.tsx'
import { NoVerifier } from '../components/no-verifier.tsx'
import { StateMark, type Tone } from '../components/state.tsx'
import { TableHead } from '../components/table-head.tsx'
import { loadWritten } from '../evidence/load-written.ts'
import { Attention, LastDrill, Numbers } from '../evidence/overview-cards.tsx'
import { findTarget, hasReceipt, isDrill, toAppliedMs, toKindWords } from '../evidence/words.ts'
import { entriesSeen, isLive, liveLog, tick, verifiers } from '../live.ts'
import { sitePath } from '../router.ts'
import { formatCount, say } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatAge, formatDuration, formatMoment } from '../time.ts'
import { countUpToDate, describeVerifier, groupBy, showVerifier } from './verifier-states.ts'

/** "Is every verifier up to date?", answered by a sentence. */
export function Overview({ siteId }: SiteProps): JSX.Element {
  const all = verifiers.value
  return (
    <>
      <div class="row">
        <p class="question">{say('Is every verifier up to date?')}</p>
        <AsCommand
          curl={[{ path: `/api/sites/${siteId}/verifiers` }, { path: `/api/sites/${siteId}/summary` }]}
          cli={toCli(['verifiers'], { site: siteId })}
        />
      </div>
      <Answer all={all} />
      {all !== undefined && all.length > 0 && <Fleet siteId={siteId} all={all} />}
      <div class="split">
        <LastEntries siteId={siteId} />
        <div class="column">
          <Attention siteId={siteId} />
          <LastDrill siteId={siteId} mayStart={mayRevoke(siteId)} />
          <Numbers siteId={siteId} />
        </div>
      </div>
    </>
  )
}

function Answer({ all }: { readonly all: readonly Verifier[] | undefined }): JSX.Element {
  if (all === undefined) return <h1 class="answer pending">{say('Asking the service…')}</h1>
  if (!isLive())
    return (
      <div class="answer">
        <h1>{say('Not known at this moment.')}</h1>
        <p class="lead">
          {liveLog.value === undefined
            ? say('The service has not sent a signed head yet.')
            : say('The service has not sent a signed head for {age}.', { age: describeAge() })}{' '}
          {say('What follows is the last known state.')}
        </p>
      </div>
    )
  if (all.length === 0)
    return (
      <div class="answer">
        <h1>{say('No verifier follows this site yet.')}</h1>
        <p class="lead">{position()}</p>
        <NoVerifier />
      </div>
    )
  const { good, all: count } = countUpToDate(all)
  const others = all.filter((each) => showVerifier(each).tone !== 'good')
  const open = all.filter((each) => each.fails_open && showVerifier(each).tone === 'good')
  return (
    <div class="answer">
      <h1>{toHeadline(good, count)}</h1>
      <p class="lead">
        {position()}{' '}
        {good === count
          ? say('All have applied it.')
          : say('{good} of {count} have applied it.', {
              good: formatCount(good),
              count: formatCount(count),
            })}{' '}
        {others.slice(0, 3).map((each) => (
          <Sentence key={toKey(each)} verifier={each} />
        ))}
        {others.length > 3 && `${say('{count} more are not up to date.', { count: others.length - 3 })} `}
        {open.slice(0, 2).map((each) => (
          <Sentence key={toKey(each)} verifier={each} />
        ))}
      </p>
    </div>
  )
}

/** The sentence about a verifier, with its name in bold. */
function Sentence({ verifier }: { readonly verifier: Verifier }): JSX.Element {
  const { verifier_id } = verifier
  const [before, ...after] = describeVerifier(verifier).split(verifier_id)
  return (
    <>
      {before}
      <strong>{verifier_id}</strong>
      {after.join(verifier_id)}{' '}
    </>
  )
}

function toHeadline(good: number, count: number): string {
  if (good < count)
    return say('{good} of {count} verifiers are up to date.', {
      good: formatCount(good),
      count: formatCount(count),
    })
  return count === 1
    ? say('The one verifier is up to date.')
    : say('All {count} verifiers are up to date.', { count: formatCount(count) })
}

function position(): string {
  const known = liveLog.value
  return known === undefined
    ? ''
    : say('Log at {seq}, proven {age} ago.', { seq: known.seq, age: describeAge() })
}

function describeAge(): string {
  const known = liveLog.value
  return known === undefined ? say('some time') : formatAge(tick.value - known.provenAtMs)
}

function toKey({ verifier_id, instance_id, key_id }: Verifier): string {
  return `${verifier_id} ${instance_id} ${key_id}`
}

const LEGEND: readonly (readonly [Tone, string])[] = [
  ['good', say('up to date')],
  ['late', say('behind')],
  ['silent', say('silent')],
  ['gone', say('not connected, rejects everything')],
  ['soon', say('not connected, may still accept')],
  ['bad', say('not connected, may accept revoked access')],
  ['none', say('not known now')],
]
/** These are in the legend even if there is none. */
const ALWAYS: readonly Tone[] = ['good', 'late', 'silent', 'gone']

function Fleet({ siteId, all }: { readonly siteId: string; readonly all: readonly Verifier[] }): JSX.Element {
  const { value: keys } = useLoad(siteId, (signal) =>
    call<{ items: readonly ApiKey[] }>(`/api/sites/${siteId}/keys`, {
      site: siteId,
      query: { limit: 200 },
      signal,
    }),
  )
  const toTone = (each: Verifier): Tone => (isLive() ? showVerifier(each).tone : 'none')
  const toLabel = ({ key_id }: Verifier) => {
    const key = keys?.items.find((each) => each.key_id === key_id)
    return key?.label ?? (key === undefined ? shorten(key_id) : say('API key …{last4}', { last4: key.last4 }))
  }
  const hasNodes = new Set(all.map(({ node_id }) => node_id)).size > 1
  return (
    <section class="card fleet-card" aria-label={say('Verifiers')}>
      <div>
        <h2>{hasNodes ? say('Verifiers by API key and node') : say('Verifiers by API key')}</h2>
        <ul class="groups">
          {groupBy(all, toLabel).map(([label, ofKey]) => (
            <li key={label} class="group">
              <h3>{label}</h3>
              <p>
                {isLive()
                  ? say('{good} of {count} up to date', {
                      good: countUpToDate(ofKey).good,
                      count: ofKey.length,
                    })
                  : say('{count} known', { count: ofKey.length })}
              </p>
              {groupBy(ofKey, ({ node_id }) => node_id ?? say('no node')).map(([node, ofNode]) => (
                <div key={node} class="node">
                  {hasNodes && <span class="label">{shorten(node)}</span>}
                  <ul
                    class="dots"
                    aria-label={hasNodes ? say('{label}, node {node}', { label, node }) : label}
                  >
                    {ofNode.map((each) => (
                      <li key={toKey(each)}>
                        <a
                          class="dot"
                          href={sitePath(siteId, 'verifiers', each.instance_id ?? undefined)}
                          aria-label={describeVerifier(each)}
                          title={describeVerifier(each)}
                        >
                          <StateMark tone={toTone(each)} size={20} />
                        </a>
                      </li>
                    ))}
                  </ul>
                </div>
              ))}
            </li>
          ))}
        </ul>
        <ul class="legend">
          {LEGEND.map(
            ([tone, word]) => [tone, word, all.filter((each) => toTone(each) === tone).length] as const,
          )
            .filter(([tone, , count]) => count > 0 || ALWAYS.includes(tone))
            .map(([tone, word, count]) => (
              <li key={tone}>
                <StateMark tone={tone} /> <strong>{formatCount(count)}</strong> {word}
              </li>
            ))}
        </ul>
      </div>
      <Position all={all} />
    </section>
  )
}

const LATE_S = 10

/** The position of the log, and its age on the way to the bound of the strictest verifier. */
function Position({ all }: { readonly all: readonly Verifier[] }): JSX.Element {
  const known = liveLog.value
  const bounds = all.flatMap(({ max_staleness_seconds }) => max_staleness_seconds ?? [])
  const hasSeveral = new Set(bounds).size > 1
  const bound = bounds.length === 0 ? undefined : Math.min(...bounds)
  const scaleS = bound ?? 30
  const hasLate = scaleS >= 2 * LATE_S
  const toX = (seconds: number) => Math.min(250, (seconds / scaleS) * 250)
  const ageS = known === undefined ? undefined : Math.max(0, tick.value - known.provenAtMs) / 1000
  return (
    <div class="position">
      <h2>{say('Log position')}</h2>
      <p class="figure">{known === undefined ? '–' : known.seq}</p>
      <p class="meta">{say('Signed head, proven {age} ago', { age: <strong>{describeAge()}</strong> })}</p>
      <svg class="chart age" viewBox="0 0 250 34" aria-hidden="true">
        <rect class="fill-sunken" y="6" width="250" height="6" rx="3" />
        {ageS !== undefined && (
          <rect
            class={ageS < LATE_S ? 'fill-green' : 'fill-amber'}
            y="6"
            width={Math.max(6, toX(ageS))}
            height="6"
            rx="3"
          />
        )}
        {hasLate && (
          <>
            <line class="grid" x1={toX(LATE_S)} x2={toX(LATE_S)} y1="2" y2="16" />
            <text x={toX(LATE_S)} y="30" text-anchor="middle">
              {say('{seconds} s: late', { seconds: LATE_S })}
            </text>
          </>
        )}
        {bound !== undefined && (
          <text x="250" y="30" text-anchor="end">
            {hasSeveral
              ? say('{seconds} s: the first rejects all', { seconds: bound })
              : say('{seconds} s: rejects all', { seconds: bound })}
          </text>
        )}
      </svg>
    </div>
  )
}

const SHOWN = 8

interface Recent {
  readonly entry: LogEntry
  readonly receipt: Receipt | undefined
  readonly reason: string | null
}

/** The newest entries, each with the milliseconds of its verifiers. */
async function loadRecent(siteId: string, signal: AbortSignal): Promise<readonly Recent[]> {
  const options = { site: siteId, signal }
  const page = await call<LogPage>(`/api/sites/${siteId}/log`, { ...options, query: { limit: SHOWN } })
  const audit = call<{ items: readonly AuditRow[] }>(`/api/sites/${siteId}/audit`, {
    ...options,
    query: { limit: 50 },
  }).catch(() => ({ items: [] }))
  const seqs = page.items.filter(({ kind }) => hasReceipt(kind)).map(({ seq }) => seq)
  const [receipts, rows] = await Promise.all([
    loadWritten(siteId, seqs, signal).catch(() => undefined),
    audit,
  ])
  return page.items.map((entry) => ({
    entry,
    receipt: receipts?.get(entry.seq),
    reason: rows.items.find(({ seq }) => seq === entry.seq)?.reason ?? null,
  }))
}

const RELOAD_MS = 3000

function LastEntries({ siteId }: SiteProps): JSX.Element {
  const again = entriesSeen.value
  const { value, fault, reload } = useLoad(siteId, (signal) => loadRecent(siteId, signal), {
    again,
    everyMs: RELOAD_MS,
  })
  return (
    <section class="card flush">
      <header>
        <h2>{say('Last entries')}</h2>
        <a href={sitePath(siteId, 'receipts')}>{say('All receipts')}</a>
      </header>
      <Fault text={value === undefined ? fault : undefined} onRetry={reload} />
      <table class="recent">
        <TableHead
          columns={[
            [say('Entry')],
            [say('What')],
            [
              <>
                <span class="visually-hidden">{say('Time until each verifier had applied it,')} </span>
                <StripAxis />
              </>,
              'extra',
            ],
            [say('Last applied'), 'number'],
            [say('Time'), 'number extra'],
          ]}
        />
        <tbody>
          {value?.map(({ entry, receipt, reason }) => (
            <tr key={entry.seq}>
              <td class="seq">
                <a href={sitePath(siteId, hasReceipt(entry.kind) ? 'receipts' : 'log', String(entry.seq))}>
                  {entry.seq}
                </a>
              </td>
              <td class="two">
                {isDrill(entry) ? say('Drill') : toKindWords(entry.kind)} <Target entry={entry} />
                {reason !== null && (
                  <span>
                    <bdi>{reason}</bdi>
                  </span>
                )}
              </td>
              <td class="extra">
                {receipt !== undefined && (
                  <Strip
                    ticks={receipt.verifiers.flatMap((each) => toAppliedMs(each) ?? [])}
                    isComplete={receipt.acknowledged === receipt.expected}
                  />
                )}
              </td>
              <td class="number two">
                {receipt === undefined ? (
                  <span>
                    {hasReceipt(entry.kind) ? say('waiting for its receipt') : say('no receipt needed')}
                  </span>
                ) : (
                  <>
                    {lastAfter(receipt)}
                    <span>
                      <AppliedCount {...receipt} />
                    </span>
                  </>
                )}
              </td>
              <td class="number extra">
                <time dateTime={entry.at}>{formatMoment(entry.at)}</time>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="caption">
        {value?.length === 0
          ? say('Nothing has changed at this site yet.')
          : say('Each tick is one verifier. Times count from the entry until the verifier had applied it.')}
      </p>
    </section>
  )
}

function lastAfter({ verifiers: list }: Receipt): string {
  const times = list.flatMap((each) => toAppliedMs(each) ?? [])
  return times.length === 0 ? '–' : formatDuration(Math.max(...times))
}

function Target({ entry }: { readonly entry: LogEntry }): JSX.Element | null {
  const target = findTarget(entry)
  return target === undefined ? null : <code title={target}>{shorten(target)}</code>
}
