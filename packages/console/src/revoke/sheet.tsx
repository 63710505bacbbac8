import type { Propagation } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../components/copy.tsx'
import { Icon, Seal } from '../components/icon.tsx'
import { Id } from '../components/id.tsx'
import { Pill, StateMark } from '../components/state.tsx'
import { place } from '../router.ts'
import { formatDuration, formatExact, formatMoment } from '../time.ts'
import { choose, closeRevoke, openRevoke, revoke, type Step, step, type Target } from './state.ts'

export { openRevoke }

/** The sheet at the side: whom, what it will end, why, and then the receipt as it fills up. */
export function RevokeSheet(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const { at } = step.value
  useEffect(() => {
    if (at === 'closed') dialog.current?.close()
    else if (dialog.current?.open === false) dialog.current.showModal()
  }, [at])
  const { siteId } = place.value
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="sheet-title" onClose={closeRevoke}>
      {siteId !== undefined && at !== 'closed' && <Content siteId={siteId} current={step.value} />}
    </dialog>
  )
}

function Content({
  siteId,
  current,
}: {
  readonly siteId: string
  readonly current: Step
}): JSX.Element | null {
  switch (current.at) {
    case 'closed':
      return null
    case 'choose':
      return <Choose siteId={siteId} {...current} />
    case 'preview':
      return (
        <Preview siteId={siteId} target={current.target} fault={current.fault} reason="" isBusy={false} />
      )
    case 'sending':
      return <Preview siteId={siteId} target={current.target} reason={current.reason} isBusy />
    case 'unknown':
      return <Unknown {...current} />
    case 'receipt':
      return <Receipt {...current} />
  }
}

/** Takes the focus when its step appears: `autofocus` only works when the dialog opens. */
function focus(input: HTMLInputElement | null): void {
  if (input !== null && document.activeElement !== input) input.focus()
}

function Head({ title }: { readonly title: string }): JSX.Element {
  return (
    <header>
      <h2 id="sheet-title">{title}</h2>
      <button type="button" class="icon-button" aria-label="Close" onClick={closeRevoke}>
        <Icon name="close" />
      </button>
    </header>
  )
}

function Choose({
  siteId,
  text,
  isBusy,
  fault,
}: {
  readonly siteId: string
  readonly text: string
  readonly isBusy: boolean
  readonly fault?: string
}): JSX.Element {
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
        <label>
          Whose access, or which credential?
          <input
            ref={focus}
            autofocus
            required
            maxLength={256}
            spellcheck={false}
            autocomplete="off"
            value={value}
            placeholder="User name, ppid_… or cred_…"
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </label>
        <p class="meta">
          A user name is the one that your own systems use. It is not stored and is in no address.
        </p>
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      <footer>
        <span class="grow" />
        <button type="button" onClick={closeRevoke}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={isBusy || value.trim() === ''}>
          Continue
        </button>
      </footer>
    </form>
  )
}

function Who({ target, isRevoked }: { readonly target: Target; readonly isRevoked: boolean }): JSX.Element {
  return (
    <div class="who">
      <span>
        <strong>{target.name ?? (target.kind === 'user' ? 'User' : 'Credential')}</strong>
        <Id value={target.id} copy />
      </span>
      {isRevoked ? <Pill tone="bad">Revoked</Pill> : <Pill tone="none">Not revoked yet</Pill>}
    </div>
  )
}

function Preview({
  siteId,
  target,
  fault,
  reason,
  isBusy,
}: {
  readonly siteId: string
  readonly target: Target
  readonly fault?: string | undefined
  readonly reason: string
  readonly isBusy: boolean
}): JSX.Element {
  const [why, setWhy] = useState(reason)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void revoke(siteId, target, why.trim())
      }}
    >
      <Head title="Revoke access" />
      <div class="body">
        <Who target={target} isRevoked={false} />
        <label>
          Reason
          <input
            ref={focus}
            autofocus
            required
            maxLength={256}
            value={why}
            readOnly={isBusy}
            placeholder="Laptop stolen, INC-4471"
            onInput={(event) => setWhy(event.currentTarget.value)}
          />
        </label>
        <p class="meta">The reason is in the audit log and on the receipt.</p>
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      <footer>
        <CopyButton label="Copy as command" text={toCommand(siteId, target, why)} />
        <span class="grow" />
        <button type="button" onClick={closeRevoke}>
          Cancel
        </button>
        <button type="submit" class="danger-fill" disabled={isBusy || why.trim() === ''}>
          {isBusy ? 'Revoking…' : 'Revoke access'}
        </button>
      </footer>
    </form>
  )
}

function Unknown({ target, tries }: { readonly target: Target; readonly tries: number }): JSX.Element {
  return (
    <div>
      <Head title="Result unknown" />
      <div class="body" role="alert">
        <Who target={target} isRevoked={false} />
        <p class="lead">The service has not answered. The revocation may or may not have happened.</p>
        <p>
          This page sends the same request again until it gets an answer. The request cannot take effect
          twice. Tries so far: {tries}.
        </p>
      </div>
    </div>
  )
}

function Receipt({ target, done, propagation }: Extract<Step, { at: 'receipt' }>): JSX.Element {
  const denied = propagation?.denied_everywhere_at ?? undefined
  const isProven = denied !== undefined && denied <= new Date().toISOString()
  return (
    <div>
      <Head title={`Receipt ${done.seq}`} />
      <div class="body">
        <Who target={target} isRevoked />
        <div class="verdict">
          <Seal isProven={isProven} />
          <p class="lead" aria-live="polite">
            This revocation is durable as <strong>entry {done.seq}</strong>.{' '}
            <Sentence propagation={propagation} />
          </p>
        </div>
        <Banner propagation={propagation} isProven={isProven} />
        {propagation !== undefined && <Verifiers propagation={propagation} />}
      </div>
      <footer>
        <span class="grow" />
        <button type="button" class="primary" onClick={closeRevoke}>
          Done
        </button>
      </footer>
    </div>
  )
}

function Sentence({ propagation }: { readonly propagation: Propagation | undefined }): JSX.Element {
  if (propagation === undefined) return <>Verifiers are being asked.</>
  const { verifiers, committed_at } = propagation
  if (verifiers.length === 0) return <>No verifier follows this site now.</>
  const times = verifiers.flatMap(({ acknowledged_at }) =>
    acknowledged_at === null ? [] : [toMs(acknowledged_at, committed_at)],
  )
  const last = times.length === 0 ? '' : `, the last after ${formatDuration(Math.max(...times))}`
  return (
    <>
      <strong>
        {times.length} of {verifiers.length}
      </strong>{' '}
      verifiers have applied it{last}.
    </>
  )
}

function Banner({
  propagation,
  isProven,
}: {
  readonly propagation: Propagation | undefined
  readonly isProven: boolean
}): JSX.Element | null {
  if (propagation === undefined) return null
  const { denied_everywhere_at, denied_at_latest, exceptions } = propagation
  if (denied_everywhere_at === null)
    return (
      <p class="banner amber">
        <strong>Not denied everywhere.</strong> {exceptions.map(({ verifier_id }) => verifier_id).join(', ')}{' '}
        fails open.
      </p>
    )
  return (
    <p class={isProven ? 'banner green' : 'banner'}>
      <strong>{isProven ? 'Denied everywhere at' : 'Denied everywhere at the latest'}</strong>
      <time dateTime={denied_everywhere_at}>
        {formatExact(isProven ? denied_everywhere_at : denied_at_latest)} UTC
      </time>
    </p>
  )
}

/** One bar for each verifier. A bar appears when its acknowledgement arrives, and never before. */
function Verifiers({
  propagation: { verifiers, committed_at },
}: {
  readonly propagation: Propagation
}): JSX.Element {
  const times = verifiers.map(({ acknowledged_at }) =>
    acknowledged_at === null ? undefined : toMs(acknowledged_at, committed_at),
  )
  const longest = Math.max(50, ...times.map((time) => time ?? 0))
  return (
    <ul class="bars">
      {verifiers.map(({ verifier_id, instance_id, state, rejects_from }, i) => {
        const time = times[i]
        return (
          <li key={`${verifier_id} ${instance_id}`}>
            <span class="name">{verifier_id}</span>
            {time === undefined ? (
              <span class={state === 'not_connected' ? 'lost' : 'waiting'}>
                <StateMark
                  tone={state === 'not_connected' ? 'gone' : state === 'silent' ? 'silent' : 'none'}
                />
                {state === 'not_connected' && rejects_from !== null
                  ? `not connected, rejects everything from ${formatMoment(rejects_from)}`
                  : state === 'silent'
                    ? 'silent'
                    : 'waiting'}
              </span>
            ) : (
              <>
                <svg class="bar" height="12" aria-hidden="true">
                  <rect width={`${Math.max(1, (100 * time) / longest)}%`} height="12" rx="2" />
                </svg>
                <span class="ms">{formatDuration(time)}</span>
              </>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** Clocks of the service only. A verifier may acknowledge before the commit time was read. */
function toMs(acknowledgedAt: string, committedAt: string): number {
  return Math.max(0, Date.parse(acknowledgedAt) - Date.parse(committedAt))
}

function toCommand(siteId: string, { kind, id, name }: Target, reason: string): string {
  const who = kind === 'credential' ? `revoke ${quote(id)}` : `revoke-user ${quote(name ?? id)}`
  return `countersign ${who} --site ${quote(siteId)} --reason ${quote(reason === '' ? '…' : reason)}`
}

function quote(text: string): string {
  return /^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
