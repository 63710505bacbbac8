import type { SiteSummary } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { call } from '../api/call.ts'
import { toCli } from '../api/command.ts'
import { useLoad } from '../api/use-load.ts'
import { round } from '../charts/scale.ts'
import { Command } from '../components/copy.tsx'
import { StateMark } from '../components/state.tsx'
import { TableHead } from '../components/table-head.tsx'
import { formatCount, say, sayCount, sayList } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatDuration, formatMoment } from '../time.ts'
import { formatShare } from './overview-cards.tsx'
import { formatBounded, joinNames } from './words.ts'

const RELOAD_MS = 10_000

/** Which callers still use bearer tokens, and whether they can be switched off. */
export function BearerMeter({ siteId }: SiteProps): JSX.Element {
  const { value, fault } = useLoad(
    siteId,
    (signal) =>
      call<SiteSummary>(`/api/sites/${siteId}/summary`, { site: siteId, query: { window: '30d' }, signal }),
    { everyMs: RELOAD_MS },
  )
  return (
    <section class="card meter" aria-label={say('Bearer meter')}>
      <div class="row">
        <h2>{say('Bearer meter')}</h2>
        <span class="meta">{say('30 days')}</span>
      </div>
      {value === undefined ? (
        <p class={fault === undefined ? 'meta' : 'fault'}>{fault ?? say('Asking the service…')}</p>
      ) : (
        <Meter siteId={siteId} summary={value} />
      )}
    </section>
  )
}

interface MeterProps extends SiteProps {
  readonly summary: SiteSummary
}

function Meter({ siteId, summary }: MeterProps): JSX.Element {
  const { bearer, verifiers, series } = summary
  const users = verifiers.filter((each) => each.bearer > 0)
  return (
    <>
      <div class="meter-grid">
        <div>
          <p class="figure">{formatShare(bearer.share)}</p>
          <p class="meta">
            {bearer.share === null
              ? say('No accepted request was counted.')
              : say('Bearer tokens among accepted requests: {accepted}.', {
                  accepted: formatCount(bearer.accepted),
                })}
          </p>
          <ShareBar share={bearer.share} />
        </div>
        <Trend series={series} />
        <div>
          <h3>{say('If bearer tokens were off now')}</h3>
          <p>
            {bearer.mode === 'off'
              ? say('They are off: every bearer token is rejected.')
              : say('{tokens} live tokens of {users} users would end.', {
                  tokens: <strong>{formatBounded(bearer.live_tokens)}</strong>,
                  users: <strong>{formatBounded(bearer.users_with_live_tokens)}</strong>,
                })}
          </p>
          <p class="meta">
            {bearer.last_accepted_at === null
              ? say('None was accepted in the time that was counted.')
              : say('The last was accepted in the hour of {time}.', {
                  time: formatMoment(bearer.last_accepted_at),
                })}{' '}
            {bearer.last_exchange_at !== null &&
              say('The last exchange was in the hour of {time}.', {
                time: formatMoment(bearer.last_exchange_at),
              })}
          </p>
        </div>
      </div>
      {users.length > 0 && (
        <table class="compact">
          <caption class="visually-hidden">{say('Where bearer tokens were accepted')}</caption>
          <TableHead
            columns={[
              [say('Accepted at')],
              [say('Bearer tokens'), 'number'],
              [say('All decisions'), 'number extra'],
              [say('Last decision'), 'number extra'],
            ]}
          />
          <tbody>
            {users.map(({ source, verifier_id, total, bearer: count, last_at }) => (
              <tr key={`${source} ${verifier_id}`}>
                <td>
                  {verifier_id ?? (source === 'service' ? say('This service') : say('Guards without a name'))}
                </td>
                <td class="number">{formatCount(count)}</td>
                <td class="number extra">{formatCount(total)}</td>
                <td class="number extra">{formatMoment(last_at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <SwitchOff siteId={siteId} summary={summary} />
    </>
  )
}

function ShareBar({ share }: { readonly share: number | null }): JSX.Element {
  return (
    <svg class="share" viewBox="0 0 200 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="fill-sunken" width="200" height="8" rx="4" />
      {share !== null && share > 0 && (
        <rect class="fill-amber" width={round(Math.max(4, share * 200))} height="8" rx="4" />
      )}
    </svg>
  )
}

/** Bearer tokens among all decisions, day by day. */
function Trend({ series }: Pick<SiteSummary, 'series'>): JSX.Element {
  if (series.length === 0) return <p class="meta">{say('No decision was counted in this time.')}</p>
  const most = Math.max(1, ...series.map(({ credential, bearer, jwt }) => credential + bearer + jwt))
  const width = 260 / Math.max(10, series.length)
  return (
    <figure class="trend">
      <svg class="chart" viewBox="0 0 260 72" role="img" aria-label={describeTrend(series)}>
        <line class="grid" x1="0" x2="260" y1="70" y2="70" />
        {series.map(({ at, credential, bearer, jwt }, i) => {
          const all = ((credential + jwt + bearer) / most) * 66
          const own = (bearer / most) * 66
          const x = round(i * width)
          return (
            <g key={at}>
              <rect
                class="fill-soft"
                x={x}
                y={round(70 - all)}
                width={round(width * 0.8)}
                height={round(all)}
              />
              {own > 0 && (
                <rect
                  class="fill-amber"
                  x={x}
                  y={round(70 - Math.max(2, own))}
                  width={round(width * 0.8)}
                  height={round(Math.max(2, own))}
                />
              )}
            </g>
          )
        })}
      </svg>
      <figcaption class="meta">
        <svg class="key" width="10" height="10" aria-hidden="true">
          <rect class="fill-amber" width="10" height="10" rx="2" />
        </svg>{' '}
        {say('bearer tokens among all decisions, by day')}
      </figcaption>
    </figure>
  )
}

function describeTrend(series: SiteSummary['series']): string {
  const days = series.map(({ at, bearer }) => `${at.slice(0, 10)}: ${bearer}`)
  return say('Bearer tokens by day. {days}.', { days: sayList(days) })
}

const DAYS = 14
const DAY_MS = 86_400_000

/** Says whether it is safe, and what is not known. Never safe when something is not known. */
function SwitchOff({ siteId, summary }: MeterProps): JSX.Element {
  const { bearer, to } = summary
  const { verifiers_not_reporting: silent, observed_since } = bearer
  const observedMs = observed_since === null ? 0 : Date.parse(to) - Date.parse(observed_since)
  const unknown = [
    ...(observedMs < DAYS * DAY_MS
      ? [
          observed_since === null
            ? say('Nothing has been counted yet.')
            : say('Decisions have been counted for {duration}; {days} days are needed.', {
                duration: formatDuration(observedMs),
                days: DAYS,
              }),
        ]
      : []),
    ...(silent.length > 0
      ? [
          sayCount(
            silent.length,
            '{names} reports no decisions: what it accepts is not known.',
            '{names} report no decisions: what they accept is not known.',
            { names: joinNames(silent) },
          ),
        ]
      : []),
    say(
      'Verifiers that do not follow the log, and introspection by other programs, are not counted by guards.',
    ),
  ]
  if (bearer.mode === 'off') return <p class="meta">{say('Bearer tokens are off at this site.')}</p>
  return (
    <div class={bearer.safe_to_switch_off ? 'safe yes' : 'safe'}>
      <StateMark tone={bearer.safe_to_switch_off ? 'good' : 'soon'} size={16} />
      <div>
        <p>
          <strong>
            {bearer.safe_to_switch_off
              ? say('Safe to switch off: no bearer token was used for {days} days, and none is live.', {
                  days: DAYS,
                })
              : say('Not known to be safe to switch off.')}
          </strong>{' '}
          {!bearer.safe_to_switch_off && listUses(summary)}
        </p>
        <p class="meta">
          {say('What is not known:')} {unknown.join(' ')}
        </p>
        {bearer.safe_to_switch_off && (
          <Command text={toCli(['sites', 'change', siteId], { bearer: 'off' })} />
        )}
      </div>
    </div>
  )
}

function listUses({ bearer }: SiteSummary): string {
  const uses = [
    ...(bearer.live_tokens.count > 0
      ? [say('{count} live', { count: formatBounded(bearer.live_tokens) })]
      : []),
    ...(bearer.accepted > 0
      ? [sayCount(bearer.accepted, '{count} use in 30 days', '{count} uses in 30 days')]
      : []),
  ]
  return uses.length === 0 ? '' : `${sayList(uses)}.`
}
