import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isAway } from '../api/call.ts'
import { AsCommand } from '../components/as-command.tsx'
import { Fault } from '../components/fault.tsx'
import { Icon } from '../components/icon.tsx'
import { dropHeldEnter, PreviewFirst } from '../components/preview-first.tsx'
import { Pill } from '../components/state.tsx'
import { place } from '../router.ts'
import { say } from '../say.ts'
import { ActView } from './act-view.tsx'
import { EndingTree } from './ending-tree.tsx'
import { Notes } from './notes.tsx'
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
    if (!isOpen) shown?.close()
    else if (shown?.open === false) shown.showModal()
  }, [isOpen])
  const { siteId, page, id } = place.value
  // The sheet is about what the page shows. The browser's Back can open another page behind it.
  useEffect(() => closeSheet, [siteId, page, id])
  return (
    <dialog
      ref={dialog}
      class="sheet"
      aria-labelledby="sheet-title"
      onClose={() => {
        if (sheet.value.at !== 'closed') closeSheet()
        // The row from which it was opened may be gone.
        const { activeElement, body } = document
        if (activeElement === body || dialog.current?.contains(activeElement))
          document.querySelector<HTMLElement>('main')?.focus()
      }}
    >
      <Content current={current} />
    </dialog>
  )
}

function Content({ current }: { readonly current: Sheet }): JSX.Element | null {
  switch (current.at) {
    case 'closed':
      return null
    case 'choose':
      return <Choose {...current} />
    case 'form':
      return current.isAskedAgain ? <SecondQuestion {...current} /> : <Form {...current} />
    case 'act':
      return <ActView key={current.act.id} act={current.act} />
  }
}

type ChooseProps = Extract<Sheet, { at: 'choose' }>

function Choose({ siteId, text, isBusy, fault }: ChooseProps): JSX.Element {
  const [value, setValue] = useState(text)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void choose(siteId, value)
      }}
    >
      <Head title={say('Revoke access')} />
      <div class="body">
        <div class="field">
          <label for="revoke-name">{say('User, credential or token')}</label>
          <input
            id="revoke-name"
            ref={takeFocus}
            autofocus
            required
            maxLength={256}
            spellcheck={false}
            autocomplete="off"
            value={value}
            placeholder={say('User name, ppid_…, cred_… or tok_…')}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
          <p class="hint">
            {say('A user name is the one that your own systems use. It is not stored and is in no address.')}
          </p>
        </div>
        <Fault text={fault} />
        <AwayNotice />
      </div>
      <footer>
        <span class="grow" />
        <button type="button" class="large" onClick={closeSheet}>
          {say('Cancel')}
        </button>
        <button type="submit" class="large primary" disabled={isBusy || value.trim() === ''}>
          {say('Continue')} <kbd>Enter</kbd>
        </button>
      </footer>
    </form>
  )
}

type FormProps = Extract<Sheet, { at: 'form' }>

const REASONS = [
  say('Device lost or stolen'),
  say('Left the company'),
  say('Suspicious use'),
  say('Key leaked'),
]
const TRUST_REASONS = [say('Key leaked'), say('Breach at the issuer'), say('Contract ended'), say('Rotation')]

function Form({ siteId, target, outlook, fault, reason }: FormProps): JSX.Element {
  const [typed, setTyped] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const name = toTypedName(siteId, target)
  const words = toWords(target)
  const [wasEarly, setWasEarly] = useState(false)
  const isLoading = outlook === undefined && fault === undefined
  const isFilled = reason.trim() !== '' && (name === undefined || isTyped(typed, name)) && !isAway.value
  useLayoutEffect(() => takeFocus(input.current), [])
  const reasons = ['issuer', 'issuer_key', 'api_key', 'bearer'].includes(target.kind)
    ? TRUST_REASONS
    : REASONS
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!isFilled) return
        if (isLoading) return setWasEarly(true)
        confirm()
      }}
      onKeyDown={dropHeldEnter}
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
              <strong>{say('What this ends could not be counted.')}</strong> <bdi>{fault}</bdi>
            </span>
          </p>
        )}
        {outlook?.preview.ends_own_access === true && (
          <p class="notice amber">
            <Icon name="lock" />
            <span>
              <strong>{say('This ends your own access.')}</strong>{' '}
              {say('Make sure that another person can sign in.')}
            </span>
          </p>
        )}
        <div class="field">
          <label for="revoke-reason">{say('Reason')}</label>
          <input
            id="revoke-reason"
            ref={input}
            autofocus
            required
            maxLength={256}
            autocomplete="off"
            value={reason}
            placeholder={say('Why does this access end?')}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
          <p class="hint">{say('Stored in the audit log. Verifiers do not see it.')}</p>
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
            <label for="revoke-typed">{say('Type {name} to confirm', { name: <code>{name}</code> })}</label>
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
            <p class="hint">{say('Exactly as it is written. Pasting is off here.')}</p>
          </div>
        )}
        {wasEarly && <PreviewFirst isLoading={isLoading} />}
        <AwayNotice />
      </div>
      <footer>
        <AsCommand
          curl={toRequest(siteId, target, reason.trim())}
          cli={toCommand(siteId, target, reason.trim())}
        />
        <span class="grow" />
        <button type="button" class="large" onClick={closeSheet}>
          {say('Cancel')}
        </button>
        <button
          type="submit"
          class="large danger-fill"
          disabled={!isFilled}
          aria-disabled={!isFilled || isLoading}
        >
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
        <strong>{say('The service does not answer.')}</strong>{' '}
        {say('This page will not act until it answers again. What you typed is kept.')}
      </span>
    </p>
  )
}

interface StateProps {
  readonly target: Target
  readonly outlook: Outlook | undefined
}

function StatePill({ target, outlook }: StateProps): JSX.Element | null {
  if (outlook === undefined) return <Pill tone="none">{say('Checking')}</Pill>
  if (outlook.isRevoked) return <Pill tone="bad">{say('Revoked')}</Pill>
  if (outlook.isUnseen) return <Pill tone="soon">{say('Never seen here')}</Pill>
  return ['user', 'credential', 'token'].includes(target.kind) ? (
    <Pill tone="good">{say('Active')}</Pill>
  ) : null
}

const UNSEEN = {
  user: {
    this: say('this user'),
    wrong: say('A user with a wrong letter looks the same.'),
    revoke: say('Revoke an unknown user'),
  },
  credential: {
    this: say('this credential'),
    wrong: say('A credential with a wrong letter looks the same.'),
    revoke: say('Revoke an unknown credential'),
  },
  token: {
    this: say('this token'),
    wrong: say('A token with a wrong letter looks the same.'),
    revoke: say('Revoke an unknown token'),
  },
}

/** In other words than the form, and with the way back in front: most often it is a wrong name. */
function SecondQuestion({ siteId, target, reason }: FormProps): JSX.Element {
  const title = toTitle(target)
  const words = UNSEEN[target.kind === 'user' || target.kind === 'token' ? target.kind : 'credential']
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!isAway.value) confirm()
      }}
      onKeyDown={dropHeldEnter}
    >
      <Head title={say('Is the name right?')} />
      <div class="body">
        <Who siteId={siteId} target={target}>
          <Pill tone="soon">{say('Never seen here')}</Pill>
        </Who>
        <p class="lead">
          {say(
            'This service has never seen {title}: no credential, no token and no entry of the log names it.',
            { title: target.kind === 'user' ? <strong>{title}</strong> : words.this },
          )}
        </p>
        <p>
          {words.wrong}{' '}
          {say(
            'Revoking it is durable and ends the access of no one you know. Revoke it only if it may have access that this service has not seen yet.',
          )}
        </p>
        <p class="meta">
          {say('Reason:')} <bdi>{reason}</bdi>
        </p>
        <AwayNotice />
      </div>
      <footer>
        <span class="grow" />
        <button type="submit" class="large danger" disabled={isAway.value}>
          {words.revoke}
        </button>
        <button type="button" class="large primary" ref={takeFocus} onClick={goBack}>
          {say('Go back and check')}
        </button>
      </footer>
    </form>
  )
}
