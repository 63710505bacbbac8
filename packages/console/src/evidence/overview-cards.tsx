import type { ApiKey, DrillSummary, ReceiptSummary, SiteSummary, Webhook } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { useLoad } from '../api/use-load.ts'
import { Command } from '../components/copy.tsx'
import { StateMark, type Tone } from '../components/state.tsx'
import { entriesSeen, isLive, serviceNowMs, verifiers } from '../live.ts'
import { describeVerifier, showVerifier } from '../pages/verifier-states.ts'
import { sitePath } from '../router.ts'
import { formatCount, say, sayCount, sayList } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration, formatMoment } from '../time.ts'
import { formatBounded } from './words.ts'

interface Concern {
  readonly tone: Tone
  readonly text: string
  readonly href: string
}

interface Facts {
  readonly keys: readonly ApiKey[]
  readonly webhooks: readonly Webhook[]
  readonly waiting: readonly ReceiptSummary[]
  readonly drills: readonly DrillSummary[]
  /** The lists that could not be loaded. */
  readonly unknown: readonly string[]
}

const DAY_MS = 86_400_000
const EXPIRY_DAYS = 14
const DRILL_DAYS = 30

async function loadFacts(siteId: string, signal: AbortSignal): Promise<Facts> {
  const unknown: string[] = []
  const list = async <Item,>(name: string, path: string, query: Record<string, string | number>) => {
    try {
      const page = await call<{ items: readonly Item[] }>(`/api/sites/${siteId}/${path}`, {
        site: siteId,
        query,
        signal,
      })
      return page.items
    } catch {
      unknown.push(name)
      return []
    }
  }
  const [keys, webhooks, waiting, drills] = await Promise.all([
    list<ApiKey>(say('API keys'), 'keys', { limit: 200 }),
    list<Webhook>(say('webhooks'), 'webhooks', { limit: 200 }),
    list<ReceiptSummary>(say('receipts'), 'receipts', { state: 'waiting', limit: 20 }),
    list<DrillSummary>(say('drills'), 'drills', { limit: 1 }),
  ])
  return { keys, webhooks, waiting, drills, unknown }
}

function listConcerns(siteId: string, { keys, webhooks, waiting, drills }: Facts): readonly Concern[] {
  const nowMs = serviceNowMs()
  const found: Concern[] = []
  for (const each of verifiers.value ?? []) {
    const { tone } = showVerifier(each)
    const href = sitePath(siteId, 'verifiers', each.instance_id ?? undefined)
    if (tone !== 'good' || each.fails_open)
      found.push({ tone: tone === 'good' ? 'soon' : tone, text: describeVerifier(each), href })
    const differenceMs = Math.abs(each.clock_difference_ms ?? 0)
    if (differenceMs > 2000)
      found.push({
        tone: 'soon',
        text: say('The clock of {verifierId} differs by {duration}.', {
          verifierId: each.verifier_id,
          duration: formatDuration(differenceMs),
        }),
        href,
      })
  }
  for (const { seq, at, acknowledged, expected } of waiting)
    if (nowMs - Date.parse(at) > 30_000)
      found.push({
        tone: 'late',
        text: say('Entry {seq} is applied by {acknowledged} of {expected}.', { seq, acknowledged, expected }),
        href: sitePath(siteId, 'receipts', String(seq)),
      })
  for (const { label, last4, expires_at } of keys) {
    if (expires_at === null) continue
    const leftMs = Date.parse(expires_at) - nowMs
    const key = label ?? say('API key …{last4}', { last4 })
    if (leftMs < EXPIRY_DAYS * DAY_MS)
      found.push({
        tone: leftMs < 0 ? 'none' : 'soon',
        text:
          leftMs < 0
            ? say('{key} has expired.', { key })
            : say('{key} expires in {duration}.', { key, duration: formatDuration(leftMs) }),
        href: sitePath(siteId, 'keys'),
      })
  }
  for (const { url, status } of webhooks)
    if (status !== 'on')
      found.push({
        tone: 'soon',
        text:
          status === 'paused'
            ? say('The webhook to {host} is paused.', { host: toHost(url) })
            : say('The webhook to {host} is disabled.', { host: toHost(url) }),
        href: sitePath(siteId, 'webhooks'),
      })
  const [last] = drills
  if (last === undefined || nowMs - Date.parse(last.started_at) > DRILL_DAYS * DAY_MS)
    found.push({
      tone: 'none',
      text:
        last === undefined
          ? say('No drill has been run.')
          : say('The last drill was {duration} ago.', {
              duration: formatDuration(nowMs - Date.parse(last.started_at)),
            }),
      href: sitePath(siteId, 'drills'),
    })
  return found
}

function toHost(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}

const SHOWN = 6
const SLOW_MS = 15_000

/** What an operator should look at. Says what was looked at, and what could not be loaded. */
export function Attention({ siteId }: SiteProps): JSX.Element {
  const { value } = useLoad(siteId, (signal) => loadFacts(siteId, signal), {
    again: entriesSeen.value,
    everyMs: SLOW_MS,
  })
  const found = value === undefined ? [] : listConcerns(siteId, value)
  return (
    <section class="card flush">
      <header>
        <h2>{say('Needs attention')}</h2>
        {found.length > 0 && <span class="meta">{found.length}</span>}
      </header>
      <ul class="concerns">
        {found.slice(0, SHOWN).map(({ tone, text, href }) => (
          <li key={text}>
            <StateMark tone={tone} size={14} />
            <a href={href}>{text}</a>
          </li>
        ))}
      </ul>
      {found.length > SHOWN && (
        <p class="caption">{say('and {count} more', { count: found.length - SHOWN })}</p>
      )}
      {value !== undefined && (
        <p class="caption">
          {found.length === 0 && isLive() && `${say('Nothing found.')} `}
          {value.unknown.length > 0
            ? say('Not known: {unknown} could not be loaded.', { unknown: sayList(value.unknown) })
            : say('Looked at verifiers, clocks, receipts, API keys, webhooks and drills.')}
        </p>
      )}
    </section>
  )
}

export function LastDrill({ siteId, mayStart }: SiteProps & { readonly mayStart: boolean }): JSX.Element {
  const { value, fault } = useLoad(
    siteId,
    (signal) =>
      call<{ items: readonly DrillSummary[] }>(`/api/sites/${siteId}/drills`, {
        site: siteId,
        query: { limit: 1 },
        signal,
      }),
    { again: entriesSeen.value, everyMs: SLOW_MS },
  )
  const last = value?.items[0]
  return (
    <section class="card">
      <div class="row">
        <h2>{say('Last drill')}</h2>
        {last !== undefined && <a href={sitePath(siteId, 'drills', last.drill_id)}>{say('Signed report')}</a>}
      </div>
      {last === undefined ? (
        <p class="meta">
          {fault ??
            (value === undefined
              ? say('Asking the service…')
              : say('A drill revokes an id that no credential has, and reports which verifiers applied it.'))}
        </p>
      ) : (
        <>
          <p class="drill-line">{describeDrill(last)}</p>
          <p class="meta">
            <time dateTime={last.started_at}>{formatMoment(last.started_at)}</time>
          </p>
        </>
      )}
      {mayStart ? (
        <a class="button" href={`${sitePath(siteId, 'drills')}?start=1`}>
          {say('Run a drill')}
        </a>
      ) : (
        value !== undefined && last === undefined && <Command text={toCli(['drill'], { site: siteId })} />
      )}
    </section>
  )
}

/** `12 of 12 verifiers applied the drill. The last answer arrived after 38 ms.` */
export function describeDrill({ state, acknowledged, expected, elapsed_ms }: DrillSummary): string {
  if (state === 'running' || acknowledged === null || expected === null) return say('The drill is running.')
  if (expected === 0) return say('No verifier followed the site, so the drill proves nothing.')
  return elapsed_ms === null
    ? sayCount(
        expected,
        '{acknowledged} of {count} verifier applied the drill in time.',
        '{acknowledged} of {count} verifiers applied the drill in time.',
        { acknowledged },
      )
    : sayCount(
        expected,
        '{acknowledged} of {count} verifier applied the drill. The last answer arrived after {duration}.',
        '{acknowledged} of {count} verifiers applied the drill. The last answer arrived after {duration}.',
        { acknowledged, duration: formatDuration(elapsed_ms) },
      )
}

/** Numbers of the last 24 hours. */
export function Numbers({ siteId }: SiteProps): JSX.Element {
  const { value, fault } = useLoad(
    siteId,
    (signal) =>
      call<SiteSummary>(`/api/sites/${siteId}/summary`, { site: siteId, query: { window: '24h' }, signal }),
    { everyMs: SLOW_MS },
  )
  return (
    <section class="card">
      <div class="row">
        <h2>{say('Last 24 hours')}</h2>
        <a href={sitePath(siteId, 'tokens')}>{say('Bearer tokens')}</a>
      </div>
      {value === undefined ? (
        <p class="meta">{fault ?? say('Asking the service…')}</p>
      ) : (
        <>
          <dl class="numbers">
            <Fact word={say('Decisions')} value={formatCount(value.verdicts.total)} />
            <Fact word={say('Denied')} value={formatCount(value.verdicts.denied)} />
            <Fact word={say('Bearer share')} value={formatShare(value.bearer.share)} />
            <Fact word={say('Live tokens')} value={formatBounded(value.bearer.live_tokens)} />
            <Fact word={say('Active credentials')} value={formatBounded(value.counts.active_credentials)} />
            <Fact word={say('Revoked users')} value={formatBounded(value.counts.revoked_users)} />
          </dl>
          <p class="meta">
            {value.bearer.verifiers_not_reporting.length === 0
              ? say('Decisions of this service and of guards that report them.')
              : sayCount(
                  value.bearer.verifiers_not_reporting.length,
                  '{count} verifier reports no decisions, so these are not all.',
                  '{count} verifiers report no decisions, so these are not all.',
                )}
          </p>
        </>
      )}
    </section>
  )
}

export function formatShare(share: number | null): string {
  if (share === null) return '–'
  const percent = share * 100
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`
}

function Fact({ word, value }: { readonly word: string; readonly value: string }): JSX.Element {
  return (
    <div>
      <dt>{word}</dt>
      <dd>{value}</dd>
    </div>
  )
}
