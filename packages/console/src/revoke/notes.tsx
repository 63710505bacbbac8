import type { Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { Icon } from '../components/icon.tsx'
import { serviceNowMs, verifiers } from '../live.ts'
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
            <strong>Revoked already.</strong> Revoking again changes nothing and shows the first receipt.
          </span>
        </li>
      )}
      {outlook.ids.length > 1 && (
        <li>
          <Icon name="users" />
          <span>
            <strong>Known under {plural(outlook.ids.length, 'id')}.</strong> All of them are revoked, each
            with an entry and a receipt of its own.
          </span>
        </li>
      )}
      {target.kind === 'many' && (
        <li>
          <Icon name="users" />
          <span>
            {target.choice === 'matching' ? (
              <>
                <strong>All {toTitle(target)} that match the filter,</strong> as counted just now. What
                appears later is not revoked.
              </>
            ) : (
              <>
                <strong>These {toTitle(target)},</strong> which you selected. Others that match the filter are
                not revoked.
              </>
            )}
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
          {plural(known.length, 'verifier')}
          {preview.webhooks.length > 0 && ` and ${plural(preview.webhooks.length, 'webhook')}`} will be
          notified.
          {behind.length > 0 && (
            <>
              {' '}
              <strong>{behind.join(', ')}</strong> {behind.length === 1 ? 'is' : 'are'} behind now.
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
                <strong>{verifier_id}</strong> fails open: without fresh data it may accept what was revoked.
              </span>
            ))}
        </span>
      </li>
      {target.kind === 'api_key' && <Users keyId={target.id} all={known} />}
      {!isUnseen && target.kind !== 'token' && target.kind !== 'api_key' && (
        <li>
          <Icon name="credentials" />
          <span>The numbers count what this service has seen. Access that it has not seen ends too.</span>
        </li>
      )}
    </ul>
  )
}

/** The verifiers that read the log with an API key: without it, they soon reject everything. */
function Users({ keyId, all }: { readonly keyId: string; readonly all: readonly Verifier[] }): JSX.Element {
  const names = all.filter(({ key_id }) => key_id === keyId).map(({ verifier_id }) => verifier_id)
  return (
    <li>
      <Icon name="log" />
      <span>
        {names.length === 0 ? (
          'No verifier follows the log with this key now.'
        ) : (
          <>
            <strong>{[...new Set(names)].slice(0, 5).join(', ')}</strong>
            {names.length > 5 && ` and ${names.length - 5} more`} follow the log with this key. They reject
            everything when their data is too old.
          </>
        )}
      </span>
    </li>
  )
}

function NotConnected({ verifier }: { readonly verifier: Verifier }): JSX.Element {
  const { verifier_id, fails_open, rejects_everything_since: since } = verifier
  const isPast = since !== null && Date.parse(since) <= serviceNowMs()
  return (
    <span>
      {' '}
      <strong>{verifier_id}</strong>{' '}
      {fails_open
        ? 'is not connected and fails open: it may accept what was revoked.'
        : since === null
          ? 'is not connected.'
          : isPast
            ? `is not connected and has rejected everything since ${formatMoment(since)}.`
            : `is not connected and rejects everything from ${formatMoment(since)} on.`}
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
          {count === 0 ? 'Until the user is reinstated.' : `Permanent for ${plural(count, 'credential')}.`}
        </strong>{' '}
        A user who is reinstated later needs new credentials.
      </>
    )
  if (target.kind === 'issuer')
    return (
      <>
        <strong>All that this issuer signed is denied.</strong> An administrator can trust it again later.
      </>
    )
  if (target.kind === 'bearer')
    return (
      <>
        <strong>Every bearer token of this site ends.</strong> They stay invalid when bearer is switched on
        again.
      </>
    )
  if (target.kind === 'issuer_key' && target.status === 'retired')
    return (
      <>
        <strong>The key may sign nothing new.</strong> What it signed before stays valid until it expires.
      </>
    )
  if (target.kind === 'api_key')
    return (
      <>
        <strong>Permanent.</strong> Verifiers that use this key lose their stream. Give them another one
        first.
      </>
    )
  return (
    <>
      <strong>{isIrreversible ? 'Permanent.' : 'Can be undone.'}</strong>{' '}
      {isIrreversible ? 'No other act undoes this one.' : 'Another act can undo this one later.'}
    </>
  )
}

function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
}
