import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Call, CallProblem, call, sessionEnded } from '../api/call.ts'
import { doors, loadDoors } from '../api/doors.ts'
import { isOperator, isSignedIn, session } from '../api/session.ts'
import { Command } from '../components/copy.tsx'
import { Fault } from '../components/fault.tsx'
import { Icon } from '../components/icon.tsx'
import { say } from '../say.ts'
import { confirmWithPasskey, hasPasskeys, signInWithPasskey } from './passkey.ts'
import { findLink, refreshSession, signInWithLink } from './sign-in.ts'

/** The person has closed the dialog: the act was not carried out. */
class StepUpCancelled extends Error {
  constructor() {
    super(say('Not confirmed, so nothing was changed.'))
  }
}

interface Asked {
  readonly done: () => void
  readonly cancel: () => void
}

const asked = signal<Asked | undefined>(undefined)
let asking: Promise<void> | undefined

/**
 * Calls the API. If the act needs a recent sign-in, asks for one and sends the same request again,
 * with the same idempotency key. Throws `StepUpCancelled` when the person closes the dialog.
 */
export function callWithStepUp<T>(path: string, options: Call = {}): Promise<T> {
  return withStepUp(() => call<T>(path, options))
}

/** The same for several requests that are one act. `act` is run again from its beginning. */
export async function withStepUp<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (fault) {
    if (!(fault instanceof CallProblem && fault.code === 'step_up_required')) throw fault
  }
  asking ??= new Promise<void>((resolve, reject) => {
    asked.value = { done: resolve, cancel: () => reject(new StepUpCancelled()) }
  }).finally(() => {
    asking = undefined
    asked.value = undefined
  })
  await asking
  return act()
}

/** The dialogs that lie over a page: to confirm an act, and to sign in again. */
export function SignInDialogs(): JSX.Element | null {
  if (sessionEnded.value && isSignedIn.value === true) return <EndedDialog />
  return asked.value === undefined ? null : <ConfirmDialog {...asked.value} />
}

function ConfirmDialog({ done, cancel }: Asked): JSX.Element {
  return (
    <Modal onCancel={cancel} labelledBy="confirm-title">
      <header>
        <Icon name="lock" size={20} />
        <h2 id="confirm-title">{say('Confirm that it is you')}</h2>
      </header>
      <p>
        {say(
          'This act needs a sign-in from the last five minutes: it gives access, affects many people, or ends a way to sign in or a session. Nothing has been changed yet.',
        )}
      </p>
      <Ways
        withPasskey={confirmWithPasskey}
        passkeyLabel={say('Confirm with a passkey')}
        oidc={{
          toLabel: (name) => say('Confirm with {name}', { name }),
          href: '/console/oidc/start?step_up=1',
        }}
        isDone={() => session.value?.elevated_until !== null}
        onDone={done}
      />
      <footer>
        <button type="button" onClick={cancel}>
          {say('Cancel')}
        </button>
      </footer>
    </Modal>
  )
}

function EndedDialog(): JSX.Element {
  return (
    <Modal labelledBy="ended-title">
      <header>
        <Icon name="lock" size={20} />
        <h2 id="ended-title">{say('Your session has ended')}</h2>
      </header>
      <p>
        {say(
          'Sign in again to continue. This page stays as it is, with everything that you have typed. What you sent last is sent again after the sign-in.',
        )}
      </p>
      <Ways
        withPasskey={signInWithPasskey}
        passkeyLabel={say('Sign in with a passkey')}
        oidc={{ toLabel: (name) => say('Continue with {name}', { name }), href: '/console/oidc/start' }}
        isDone={() => true}
        onDone={() => {
          sessionEnded.value = false
        }}
      />
    </Modal>
  )
}

interface ModalProps {
  readonly labelledBy: string
  /** Without it, the dialog cannot be closed. */
  readonly onCancel?: () => void
  readonly children: JSX.Element | readonly (JSX.Element | false)[]
}

function Modal({ labelledBy, onCancel, children }: ModalProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      dialog.current?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="confirm"
      aria-labelledby={labelledBy}
      onCancel={(event) => {
        event.preventDefault()
        onCancel?.()
      }}
      // A browser may close a dialog at the second Escape, whatever the page says.
      onClose={(event) => {
        if (onCancel === undefined && event.currentTarget.isConnected) event.currentTarget.showModal()
      }}
    >
      {children}
    </dialog>
  )
}

interface WaysProps {
  readonly withPasskey: () => Promise<void>
  readonly passkeyLabel: string
  /** In another tab, so that this page stays. */
  readonly oidc: { readonly toLabel: (name: string) => string; readonly href: string }
  /** Whether the session is now as it should be. */
  readonly isDone: () => boolean
  readonly onDone: () => void
}

const LOOK_MS = 2000

/** A passkey, a link that is pasted, or a link that is opened in another tab of this browser. */
function Ways({ withPasskey, passkeyLabel, oidc, isDone, onDone }: WaysProps): JSX.Element {
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    loadDoors()
    const timer = setInterval(() => void look(), LOOK_MS)
    return () => clearInterval(timer)
  }, [])

  const look = async () => {
    if ((await refreshSession()) && isDone()) onDone()
  }
  const run = async (act: () => Promise<void>) => {
    setBusy(true)
    setFault(undefined)
    try {
      await act()
      await look()
    } catch (thrown) {
      setFault(thrown instanceof Error ? thrown.message : say('Something went wrong. Try again.'))
    }
    setBusy(false)
  }
  const hasPasskey = doors.value?.passkey === true && hasPasskeys()
  const provider = doors.value?.oidc?.name
  return (
    <div class="ways">
      <Fault text={fault} />
      {hasPasskey && (
        <button
          type="button"
          class="primary full-width"
          disabled={isBusy}
          autofocus
          onClick={() => void run(withPasskey)}
        >
          <Icon name="passkey" />
          {passkeyLabel}
        </button>
      )}
      {provider !== undefined && (
        <a class="button full-width" href={oidc.href} target="_blank" rel="noopener">
          {oidc.toLabel(provider)}
        </a>
      )}
      <LinkForm isBusy={isBusy} onLink={(link) => void run(() => signInWithLink(link))} />
    </div>
  )
}

interface LinkFormProps {
  readonly isBusy: boolean
  readonly onLink: (link: string) => void
}

/** How to get a link, and a field for it. The field is never stored by the browser. */
export function LinkForm({ isBusy, onLink }: LinkFormProps): JSX.Element {
  const [text, setText] = useState('')
  const link = findLink(text)
  const personId = session.value?.person_id
  const command = personId === undefined ? 'countersign console' : `countersign console --person ${personId}`
  return (
    <form
      class="link-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (link === undefined) return
        setText('')
        onLink(link)
      }}
    >
      <p class="meta">
        {personId === undefined || isOperator.value
          ? say('Or make a sign-in link with an operator key. It works once, within a minute.')
          : say('Or ask an operator for a sign-in link. It works once, within a minute.')}
      </p>
      <Command text={command} />
      <label>
        {say('Sign-in link')}
        <span class="with-button">
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder={say('Paste it here')}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" disabled={isBusy || link === undefined}>
            {say('Use the link')}
          </button>
        </span>
      </label>
    </form>
  )
}
