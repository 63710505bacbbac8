import type { Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { toCli } from '../api/command.ts'
import { round } from '../charts/scale.ts'
import { AsCommand } from '../components/as-command.tsx'
import { Fault } from '../components/fault.tsx'
import { NoVerifier } from '../components/no-verifier.tsx'
import { Pill } from '../components/state.tsx'
import { TableHead } from '../components/table-head.tsx'
import { usePages } from '../evidence/use-pages.ts'
import { entriesSeen } from '../live.ts'
import { place, setQuery, sitePath } from '../router.ts'
import { say, sayCount, sayList } from '../say.ts'
import type { SiteProps } from '../site-props.ts'
import { formatMoment } from '../time.ts'
import { OneVerifier } from './one-verifier.tsx'
import { showVerifier } from './verifier-states.ts'

const STATES: readonly (readonly [string, string])[] = [
  ['', say('Expected and connected')],
  ['connected', say('Connected')],
  ['silent', say('Silent')],
  ['gone', say('Gone')],
  ['retired', say('Retired')],
]

export function Verifiers({ siteId }: SiteProps): JSX.Element {
  const { id } = place.value
  return id === undefined ? <Roster siteId={siteId} /> : <OneVerifier key={id} siteId={siteId} id={id} />
}

/** All verifiers of the site, with what receipts expect of each. */
function Roster({ siteId }: SiteProps): JSX.Element {
  const state = place.value.query.get('state') ?? undefined
  const { items, fault, cursor, reload, loadMore } = usePages<Verifier>(
    siteId,
    `/api/sites/${siteId}/verifiers`,
    { state },
    entriesSeen.value,
  )
  return (
    <>
      <div class="title">
        <div>
          <h1>{say('Verifiers')}</h1>
          <p class="meta">
            {say(
              'Guards that decide about requests to this site. One that vanished stays listed, with the time since which it rejects everything.',
            )}
          </p>
        </div>
        <AsCommand
          curl={{ path: `/api/sites/${siteId}/verifiers`, query: { state } }}
          cli={toCli(['verifiers'], { site: siteId, state })}
        />
      </div>
      <fieldset class="choices">
        <legend class="visually-hidden">{say('State')}</legend>
        {STATES.map(([name, word]) => (
          <button
            key={name}
            type="button"
            aria-pressed={(state ?? '') === name}
            onClick={() => setQuery({ state: name })}
          >
            {word}
          </button>
        ))}
      </fieldset>
      <Fault text={fault} onRetry={reload} />
      {items?.length === 0 ? (
        <div class="card empty">
          <p>
            {state === undefined
              ? say('No verifier follows this site yet.')
              : say('No verifier is in this state.')}
          </p>
          {state === undefined && <NoVerifier />}
        </div>
      ) : (
        <div class="card table">
          <table class="roster" aria-busy={items === undefined}>
            <TableHead
              columns={[
                [say('Verifier')],
                [say('State')],
                [say('Applied'), 'extra'],
                [say('Receipts'), 'extra'],
                [say('Bound'), 'number extra'],
                [say('Last answer'), 'number extra'],
              ]}
            />
            <tbody>
              {items?.map((each) => (
                <RosterRow
                  key={`${each.verifier_id} ${each.instance_id} ${each.key_id}`}
                  siteId={siteId}
                  each={each}
                />
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

function RosterRow({ siteId, each }: SiteProps & { readonly each: Verifier }): JSX.Element {
  const { tone, word } = showVerifier(each)
  const { verifier_id, instance_id, version, rejects_everything_since: since } = each
  return (
    <tr>
      <td class="two">
        {instance_id === null ? (
          <strong>{verifier_id}</strong>
        ) : (
          <a href={sitePath(siteId, 'verifiers', instance_id)}>
            <strong>{verifier_id}</strong>
          </a>
        )}
        {version !== null && <span class="extra">{version}</span>}
      </td>
      <td class="two">
        <Pill tone={tone}>{word.split(/[,،]/)[0]}</Pill>
        {since !== null && each.state !== 'retired' && (
          <span>
            {tone === 'gone'
              ? say('rejects everything since {time}', { time: formatMoment(since) })
              : say('rejects everything from {time}', { time: formatMoment(since) })}
          </span>
        )}
        {each.fails_open && <span>{say('fails open: may accept revoked access')}</span>}
      </td>
      <td class="extra two">
        <Line each={each} />
        <span>
          {sayList([
            String(each.seq),
            ...(each.lag > 0 ? [sayCount(each.lag, '{count} entry behind', '{count} entries behind')] : []),
          ])}
        </span>
      </td>
      <td class="extra">{each.expected ? say('expected') : say('not expected')}</td>
      <td class="number extra">
        {each.max_staleness_seconds === null
          ? '–'
          : say('{seconds} s', { seconds: each.max_staleness_seconds })}
      </td>
      <td class="number extra">{each.acknowledged_at === null ? '–' : formatMoment(each.acknowledged_at)}</td>
    </tr>
  )
}

/** How far a verifier is among the last hundred entries. */
const LINE_ENTRIES = 100

function Line({ each }: { readonly each: Verifier }): JSX.Element {
  const share = Math.max(0, 1 - each.lag / LINE_ENTRIES)
  const { tone } = showVerifier(each)
  return (
    <svg class="line-strip" viewBox="0 0 120 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="fill-sunken" width="120" height="6" rx="3" />
      <rect class={tone === 'good' ? 'fill-green' : 'fill-2'} width={round(120 * share)} height="6" rx="3" />
    </svg>
  )
}
