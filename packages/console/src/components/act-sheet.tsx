import type { Preview, PreviewAct } from '@countersign/core/contract'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ApiRequest, CallProblem, type FieldError, NoAnswer, newIdempotencyKey } from '../api/call.ts'
import { callWithStepUp } from '../people/step-up.tsx'
import { describe, isUnknown } from '../revoke/state.ts'
import { say } from '../say.ts'
import { keepSheet } from '../sheet-place.ts'
import { ActPreview } from './act-preview.tsx'
import { AsCommand } from './as-command.tsx'
import { Icon } from './icon.tsx'
import { showNotice } from './notice.ts'
import { dropHeldEnter, PreviewFirst } from './preview-first.tsx'

interface SheetProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A sheet at the side. Closing it returns the focus to where it was. */
export function Sheet({ title, onClose, children }: SheetProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    const first = shown?.querySelector<HTMLElement>('[data-first]') ?? shown?.querySelector('input, select')
    if (first instanceof HTMLElement) first.focus()
    return () => shown?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      class="sheet"
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div>
        <header>
          <h2>{title}</h2>
          <button type="button" class="icon-button" aria-label={say('Close')} onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** The request that was answered, also as a command. */
export interface Sent {
  readonly request: ApiRequest
  readonly cli: string | undefined
  readonly reason: string
}

interface ActSheetProps<Answer> {
  readonly title: string
  readonly siteId: string
  /** The word on the button, and while the request is on its way. */
  readonly verb: string
  readonly busyVerb: string
  /** The call; undefined while the form is not complete. */
  readonly toRequest: (reason: string | undefined) => ApiRequest | undefined
  readonly toCli: (reason: string | undefined) => string | undefined
  /** An act that ends access: shows what it ends, and needs a reason. */
  readonly ends?: PreviewAct
  /** The act ends access in a way that no preview can count. */
  readonly isEnding?: boolean
  /** Must be typed to allow the act. */
  readonly typedName?: string | undefined
  readonly hasReason?: boolean
  readonly children?: ComponentChildren
  readonly onDone: (answer: Answer, sent: Sent) => void
  /** What the service says about single fields, so that the form shows it beside them. */
  readonly onFieldErrors?: (errors: readonly FieldError[]) => void
  readonly onClose: () => void
}

type State =
  | { readonly at: 'form'; readonly fault?: string }
  | { readonly at: 'sending' }
  | { readonly at: 'unknown'; readonly fault?: string }

/**
 * The form of one act with its reason. The page shows the result only after the answer, and an
 * answer that never comes is asked for again with the same idempotency key.
 */
export function ActSheet<Answer>(props: ActSheetProps<Answer>): JSX.Element {
  const { title, siteId, verb, busyVerb, ends, typedName, hasReason = true, onDone, onClose } = props
  const isEnding = ends !== undefined || props.isEnding === true
  const [reason, setReason] = useState('')
  const [typed, setTyped] = useState('')
  const [state, setState] = useState<State>({ at: 'form' })
  const [preview, setPreview] = useState<Preview | 'failed'>()
  const [wasEarly, setWasEarly] = useState(false)
  const key = useRef(newIdempotencyKey())
  const isLeft = useRef(false)
  const leave = () => {
    isLeft.current = true
  }
  useEffect(() => leave, [])
  const why = reason.trim() === '' ? undefined : reason.trim()
  const request = props.toRequest(why)
  const isBusy = state.at === 'sending'
  const isLoading = ends !== undefined && preview === undefined
  const isReady =
    request !== undefined &&
    (!isEnding || !hasReason || why !== undefined) &&
    (typedName === undefined || typed === typedName)

  const submit = async () => {
    if (request === undefined || !isReady || isBusy) return
    if (isLoading) return setWasEarly(true)
    setState({ at: 'sending' })
    try {
      const { path, ...options } = request
      const answer = await callWithStepUp<Answer>(path, { ...options, idempotencyKey: key.current })
      const finish = () => onDone(answer, { request, cli: props.toCli(why), reason: why ?? '' })
      if (isLeft.current) keepSheet(finish)
      else finish()
    } catch (fault) {
      if (isLeft.current)
        return showNotice(isUnknown(fault) ? say('The result is unknown.') : describe(fault))
      if (fault instanceof NoAnswer) return setState({ at: 'unknown' })
      if (isUnknown(fault)) return setState({ at: 'unknown', fault: describe(fault) })
      if (fault instanceof CallProblem) {
        key.current = newIdempotencyKey()
        props.onFieldErrors?.(fault.errors)
      }
      setState({ at: 'form', fault: describe(fault) })
    }
  }
  return (
    <Sheet title={title} onClose={onClose}>
      <form
        class="act"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
        onKeyDown={dropHeldEnter}
      >
        <div class="body">
          <fieldset disabled={state.at !== 'form'}>{props.children}</fieldset>
          {ends !== undefined && <ActPreview siteId={siteId} act={ends} onPreview={setPreview} />}
          {hasReason && (
            <label>
              {say('Reason')}
              {!isEnding && <span class="optional"> {say('optional')}</span>}
              <input
                data-first={isEnding ? '' : undefined}
                maxLength={256}
                value={reason}
                readOnly={state.at !== 'form'}
                required={isEnding}
                onInput={(event) => setReason(event.currentTarget.value)}
              />
              <span class="hint">{say('The reason is in the audit log. Verifiers do not see it.')}</span>
            </label>
          )}
          {typedName !== undefined && (
            <label>
              {say('Type {name} to confirm', { name: <code>{typedName}</code> })}
              <input
                class="typed"
                autocomplete="off"
                spellcheck={false}
                value={typed}
                onPaste={(event) => event.preventDefault()}
                onDrop={(event) => event.preventDefault()}
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            </label>
          )}
          {wasEarly && state.at === 'form' && <PreviewFirst isLoading={isLoading} />}
          {preview !== 'failed' && preview?.ends_own_access === true && (
            <p class="banner amber">
              <strong>{say('This ends your own access.')}</strong>
            </p>
          )}
          {state.at === 'unknown' && (
            <p class="banner amber" role="alert">
              <strong>{say('The result is unknown.')}</strong>{' '}
              {state.fault === undefined
                ? say(
                    'The service has not answered. Send the same request again: it cannot take effect twice.',
                  )
                : say('Send the same request again: it cannot take effect twice.')}
            </p>
          )}
          {state.at !== 'sending' && state.fault !== undefined && (
            <p class="fault" role="alert">
              {state.fault}
            </p>
          )}
        </div>
        <footer>
          <AsCommand curl={request} cli={props.toCli(why)} />
          <span class="grow" />
          <button type="button" onClick={onClose}>
            {say('Cancel')}
          </button>
          <button
            type="submit"
            class={isEnding ? 'danger-fill' : 'primary'}
            disabled={!isReady || isBusy}
            aria-disabled={!isReady || isBusy || isLoading}
          >
            {isBusy ? busyVerb : state.at === 'unknown' ? say('Send again') : verb}
          </button>
        </footer>
      </form>
    </Sheet>
  )
}
