import type { Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { Icon } from '../components/icon.tsx'
import { serviceNowMs, verifiers } from '../live.ts'
import { say, sayCount } from '../say.ts'
import { formatMoment } from '../time.ts'
import type { Outlook, Target } from './state.ts'
import { toTitle } from './target.ts'

/** What the numbers do not say: for how long, who is notified, and who is not up to date now. */
export function Notes({
  target,
  outlook,
}: {
  readonly target: Target
  readonly outlook: Outlook
}): JSX.Element {
  const { preview, isUnseen, isRevoked } = outlook
  const count = preview.credentials.count
  const known = verifiers.value ?? []
  const behind = preview.lagging_verifiers.filter(
    (name) => !known.some((each) => each.verifier_id === name && each.fails_open),
  )
  return (
    <ul class="notes">
      {isRevoked && (
        <li>
          <Icon name="receipts" />
          <span>
            <strong>{say('Revoked already.')}</strong>{' '}
            {say('Revoking again changes nothing and shows the first receipt.')}
          </span>
        </li>
      )}
      {outlook.ids.length > 1 && (
        <li>
          <Icon name="users" />
          <span>
            <strong>
              {sayCount(outlook.ids.length, 'Known under {count} id.', 'Known under {count} ids.')}
            </strong>{' '}
            {say('All of them are revoked, each with an entry and a receipt of its own.')}
          </span>
        </li>
      )}
      {target.kind === 'many' && (
        <li>
          <Icon name="users" />
          <span>
            {target.choice === 'matching'
              ? say(
                  'All {target} that match the filter, as counted just now. What appears later is not revoked.',
                  { target: <strong>{toTitle(target)}</strong> },
                )
              : say('These {target}, which you selected. Others that match the filter are not revoked.', {
                  target: <strong>{toTitle(target)}</strong>,
                })}
          </span>
        </li>
      )}
      <li>
        <Icon name="info" />
        <span>
          <Permanence target={target} count={count} isIrreversible={preview.irreversible} />
        </span>
      </li>
      <li>
        <Icon name="verifiers" />
        <span>
          {preview.webhooks.length > 0
            ? say('{verifiers} and {webhooks} will be notified.', {
                verifiers: sayCount(known.length, '{count} verifier', '{count} verifiers'),
                webhooks: sayCount(preview.webhooks.length, '{count} webhook', '{count} webhooks'),
              })
            : sayCount(
                known.length,
                '{count} verifier will be notified.',
                '{count} verifiers will be notified.',
              )}
          {behind.length > 0 && (
            <>
              {' '}
              {sayCount(behind.length, '{names} is behind now.', '{names} are behind now.', {
                names: <strong>{behind.join(', ')}</strong>,
              })}
            </>
          )}
          {known
            .filter(({ state }) => state === 'gone')
            .slice(0, 3)
            .map((each) => (
              <NotConnected key={each.instance_id ?? each.verifier_id} verifier={each} />
            ))}
          {known
            .filter(({ fails_open, state }) => fails_open && state !== 'gone')
            .slice(0, 3)
            .map(({ verifier_id, instance_id }) => (
              <span key={instance_id ?? verifier_id}>
                {' '}
                {say('{verifier} fails open: without fresh data it may accept what was revoked.', {
                  verifier: <strong>{verifier_id}</strong>,
                })}
              </span>
            ))}
        </span>
      </li>
      {target.kind === 'api_key' && <Users keyId={target.id} all={known} />}
      {!isUnseen && target.kind !== 'token' && target.kind !== 'api_key' && (
        <li>
          <Icon name="credentials" />
          <span>
            {say('The numbers count what this service has seen. Access that it has not seen ends too.')}
          </span>
        </li>
      )}
    </ul>
  )
}

/** The verifiers that read the log with an API key: without it, they soon reject everything. */
function Users({ keyId, all }: { readonly keyId: string; readonly all: readonly Verifier[] }): JSX.Element {
  const names = all.filter(({ key_id }) => key_id === keyId).map(({ verifier_id }) => verifier_id)
  const shown = <strong>{[...new Set(names)].slice(0, 5).join(', ')}</strong>
  return (
    <li>
      <Icon name="log" />
      <span>
        {names.length === 0
          ? say('No verifier follows the log with this key now.')
          : names.length > 5
            ? say(
                '{names} and {count} more follow the log with this key. They reject everything when their data is too old.',
                { names: shown, count: names.length - 5 },
              )
            : say(
                '{names} follow the log with this key. They reject everything when their data is too old.',
                {
                  names: shown,
                },
              )}
      </span>
    </li>
  )
}

function NotConnected({ verifier }: { readonly verifier: Verifier }): JSX.Element {
  const { verifier_id, fails_open, rejects_everything_since: since } = verifier
  const isPast = since !== null && Date.parse(since) <= serviceNowMs()
  const name = <strong>{verifier_id}</strong>
  return (
    <span>
      {' '}
      {fails_open
        ? say('{verifier} is not connected and fails open: it may accept what was revoked.', {
            verifier: name,
          })
        : since === null
          ? say('{verifier} is not connected.', { verifier: name })
          : isPast
            ? say('{verifier} is not connected and has rejected everything since {time}.', {
                verifier: name,
                time: formatMoment(since),
              })
            : say('{verifier} is not connected and rejects everything from {time} on.', {
                verifier: name,
                time: formatMoment(since),
              })}
    </span>
  )
}

interface PermanenceProps {
  readonly target: Target
  readonly count: number
  readonly isIrreversible: boolean
}

function Permanence({ target, count, isIrreversible }: PermanenceProps): JSX.Element {
  if (target.kind === 'user')
    return (
      <>
        <strong>
          {count === 0
            ? say('Until the user is reinstated.')
            : sayCount(count, 'Permanent for {count} credential.', 'Permanent for {count} credentials.')}
        </strong>{' '}
        {say('A user who is reinstated later needs new credentials.')}
      </>
    )
  if (target.kind === 'issuer')
    return (
      <>
        <strong>{say('All that this issuer signed is denied.')}</strong>{' '}
        {say('An administrator can trust it again later.')}
      </>
    )
  if (target.kind === 'bearer')
    return (
      <>
        <strong>{say('Every bearer token of this site ends.')}</strong>{' '}
        {say('They stay invalid when bearer is switched on again.')}
      </>
    )
  if (target.kind === 'issuer_key' && target.status === 'retired')
    return (
      <>
        <strong>{say('The key may sign nothing new.')}</strong>{' '}
        {say('What it signed before stays valid until it expires.')}
      </>
    )
  if (target.kind === 'api_key')
    return (
      <>
        <strong>{say('Permanent.')}</strong>{' '}
        {say('Verifiers that use this key lose their stream. Give them another one first.')}
      </>
    )
  return (
    <>
      <strong>{isIrreversible ? say('Permanent.') : say('Can be undone.')}</strong>{' '}
      {isIrreversible ? say('No other act undoes this one.') : say('Another act can undo this one later.')}
    </>
  )
}
