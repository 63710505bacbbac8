import type { Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isAway } from '../api/call.ts'
import { AsCommand } from '../components/as-command.tsx'
import { Icon } from '../components/icon.tsx'
import { Pill } from '../components/state.tsx'
import { serviceNowMs, verifiers } from '../live.ts'
import { place } from '../router.ts'
import { formatMoment } from '../time.ts'
import { ActView } from './act-view.tsx'
import { EndingTree } from './ending-tree.tsx'
import { Ends, Head, takeFocus, Who } from './sheet-parts.tsx'
import {
  choose,
  closeSheet,
  confirm,
  goBack,
  type Outlook,
  type Sheet,
  setReason,
  sheet,
  type Target,
} from './state.ts'
import { isTyped, toCommand, toRequest, toTitle, toTypedName, toWords } from './target.ts'

/** The sheet at the side: what it will end, why, and then the receipt as it fills up. */
export function RevokeSheet(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const current = sheet.value
  const isOpen = current.at !== 'closed'
  useLayoutEffect(() => {
    const shown = dialog.current
    if (!isOpen && shown?.open) {
      shown.close()
      // The row from which it was opened may be gone.
      if (document.activeElement === document.body) document.querySelector<HTMLElement>('main')?.focus()
    } else if (isOpen && shown?.open === false) shown.showModal()
  }, [isOpen])
  const { siteId } = place.value
  return (
    <dialog
      ref={dialog}
      class="sheet"
      aria-labelledby="sheet-title"
      onClose={() => {
        if (sheet.value.at !== 'closed') closeSheet()
      }}
    >
      {siteId !== undefined && <Content siteId={siteId} current={current} />}
    </dialog>
  )
}

interface ContentProps {
  readonly siteId: string
  readonly current: Sheet
}

function Content({ siteId, current }: ContentProps): JSX.Element | null {
  switch (current.at) {
    case 'closed':
      return null
    case 'choose':
      return <Choose siteId={siteId} {...current} />
    case 'form':
      return current.isAskedAgain ? (
        <SecondQuestion siteId={siteId} {...current} />
      ) : (
        <Form siteId={siteId} {...current} />
      )
    case 'act':
      return <ActView key={current.act.id} act={current.act} />
  }
}

type ChooseProps = Extract<Sheet, { at: 'choose' }> & { readonly siteId: string }

function Choose({ siteId, text, isBusy, fault }: ChooseProps): JSX.Element {
  const [value, setValue] = useState(text)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void choose(siteId, value)
      }}
    >
      <Head title="Revoke access" />
      <div class="body">
        <div class="field">
          <label for="revoke-name">User, credential or token</label>
          <input
            id="revoke-name"
            ref={takeFocus}
            autofocus
            required
            maxLength={256}
            spellcheck={false}
            autocomplete="off"
            value={value}
            placeholder="User name, ppid_…, cred_… or tok_…"
            onInput={(event) => setValue(event.currentTarget.value)}
          />
          <p class="hint">
            A user name is the one that your own systems use. It is not stored and is in no address.
          </p>
        </div>
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      <footer>
        <span class="grow" />
        <button type="button" class="large" onClick={closeSheet}>
          Cancel
        </button>
        <button type="submit" class="large primary" disabled={isBusy || value.trim() === ''}>
          Continue <kbd>Enter</kbd>
        </button>
      </footer>
    </form>
  )
}

type FormProps = Extract<Sheet, { at: 'form' }> & { readonly siteId: string }

const REASONS = ['Device lost or stolen', 'Left the company', 'Suspicious use', 'Key leaked']
const TRUST_REASONS = ['Key leaked', 'Breach at the issuer', 'Contract ended', 'Rotation']

function Form({ siteId, target, outlook, fault, reason }: FormProps): JSX.Element {
  const [typed, setTyped] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const name = toTypedName(siteId, target)
  const words = toWords(target)
  const isReady =
    reason.trim() !== '' &&
    (name === undefined || isTyped(typed, name)) &&
    (outlook !== undefined || fault !== undefined) &&
    !isAway.value
  useLayoutEffect(() => takeFocus(input.current), [])
  const reasons = ['issuer', 'issuer_key', 'api_key', 'bearer'].includes(target.kind)
    ? TRUST_REASONS
    : REASONS
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) confirm(siteId)
      }}
    >
      <Head title={words.act} />
      <div class="body">
        <Who siteId={siteId} target={target}>
          <StatePill target={target} outlook={outlook} />
        </Who>
        <Ends target={target} preview={outlook?.preview} isUpperBound={outlook?.isUpperBound ?? false} />
        {outlook !== undefined && (target.kind === 'user' || target.kind === 'credential') && (
          <EndingTree siteId={siteId} ids={outlook.preview.samples.credentials} />
        )}
        {outlook !== undefined && <Notes target={target} outlook={outlook} />}
        {fault !== undefined && (
          <p class="notice amber" role="alert">
            <Icon name="audit" />
            <span>
              <strong>What this ends could not be counted.</strong> {fault}
            </span>
          </p>
        )}
        {outlook?.preview.ends_own_access === true && (
          <p class="notice amber">
            <Icon name="lock" />
            <span>
              <strong>This ends your own access.</strong> Make sure that another person can sign in.
            </span>
          </p>
        )}
        <div class="field">
          <label for="revoke-reason">Reason</label>
          <input
            id="revoke-reason"
            ref={input}
            autofocus
            required
            maxLength={256}
            autocomplete="off"
            value={reason}
            placeholder="Why does this access end?"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
          <p class="hint">Stored in the audit log. Verifiers do not see it.</p>
          <div class="chips">
            {reasons.map((each) => (
              <button
                key={each}
                type="button"
                class="chip"
                aria-pressed={reason === each}
                onClick={() => {
                  setReason(each)
                  input.current?.focus()
                }}
              >
                {each}
              </button>
            ))}
          </div>
        </div>
        {name !== undefined && (
          <div class="field">
            <label for="revoke-typed">
              Type <code>{name}</code> to confirm
            </label>
            <input
              id="revoke-typed"
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              value={typed}
              onPaste={(event) => event.preventDefault()}
              onDrop={(event) => event.preventDefault()}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
            <p class="hint">Exactly as it is written. Pasting is off here.</p>
          </div>
        )}
        <AwayNotice />
      </div>
      <footer>
        <AsCommand
          curl={toRequest(siteId, target, reason.trim())}
          cli={toCommand(siteId, target, reason.trim())}
        />
        <span class="grow" />
        <button type="button" class="large" onClick={closeSheet}>
          Cancel
        </button>
        <button type="submit" class="large danger-fill" disabled={!isReady}>
          {words.act} <kbd>Enter</kbd>
        </button>
      </footer>
    </form>
  )
}

/** Nothing is sent to a service that does not answer: the result could not be known. */
function AwayNotice(): JSX.Element | null {
  if (!isAway.value) return null
  return (
    <p class="notice amber" role="alert">
      <Icon name="verifiers" />
      <span>
        <strong>The service does not answer.</strong> This page will not act until it answers again. What you
        typed is kept.
      </span>
    </p>
  )
}

interface StateProps {
  readonly target: Target
  readonly outlook: Outlook | undefined
}

function StatePill({ target, outlook }: StateProps): JSX.Element | null {
  if (outlook === undefined) return <Pill tone="none">Checking</Pill>
  if (outlook.isRevoked) return <Pill tone="bad">Revoked</Pill>
  if (outlook.isUnseen) return <Pill tone="soon">Never seen here</Pill>
  return ['user', 'credential', 'token'].includes(target.kind) ? <Pill tone="good">Active</Pill> : null
}

/** What the numbers do not say: for how long, who is notified, and who is not up to date now. */
function Notes({ target, outlook }: { readonly target: Target; readonly outlook: Outlook }): JSX.Element {
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

/** In other words than the form, and with the way back in front: most often it is a wrong name. */
function SecondQuestion({ siteId, target, reason }: FormProps): JSX.Element {
  const title = toTitle(target)
  const { noun } = toWords(target)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!isAway.value) confirm(siteId)
      }}
    >
      <Head title="Is the name right?" />
      <div class="body">
        <Who siteId={siteId} target={target}>
          <Pill tone="soon">Never seen here</Pill>
        </Who>
        <p class="lead">
          This service has never seen {target.kind === 'user' ? <strong>{title}</strong> : `this ${noun}`}: no
          credential, no token and no entry of the log names it.
        </p>
        <p>
          A {noun} with a wrong letter looks the same. Revoking it is durable and ends the access of no one
          you know. Revoke it only if it may have access that this service has not seen yet.
        </p>
        <p class="meta">Reason: {reason}</p>
        <AwayNotice />
      </div>
      <footer>
        <span class="grow" />
        <button type="submit" class="large danger" disabled={isAway.value}>
          Revoke an unknown {noun}
        </button>
        <button type="button" class="large primary" ref={takeFocus} onClick={goBack}>
          Go back and check
        </button>
      </footer>
    </form>
  )
}

function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
}
