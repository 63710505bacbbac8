import type { Preview } from '@countersign/core/contract'
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Icon, type IconName } from '../components/icon.tsx'
import { Id } from '../components/id.tsx'
import { Monogram } from '../components/monogram.tsx'
import { dropHeldEnter } from '../components/preview-first.tsx'
import { formatCount, say } from '../say.ts'
import { closeSheet, type Target } from './state.ts'
import { toId, toTitle } from './target.ts'

/** Takes the focus when its step appears: `autofocus` only works when the dialog opens. */
export function takeFocus(element: HTMLElement | null): void {
  if (element !== null && document.activeElement !== element) element.focus()
}

export function Head({ title }: { readonly title: string }): JSX.Element {
  return (
    <header>
      <h2 id="sheet-title">{title}</h2>
      <button type="button" class="icon-button" aria-label={say('Close')} onClick={closeSheet}>
        <Icon name="close" />
      </button>
    </header>
  )
}

interface CloseActProps {
  readonly class: string
  readonly children: ComponentChildren
}

const SEEN_MS = 1000

/**
 * Closes the sheet of an act, and has the focus. It appears where the button was that sent the act,
 * so neither the second click of a double click there nor a second Enter closes the receipt unseen.
 */
export function CloseAct({ class: className, children }: CloseActProps): JSX.Element {
  const [shownAtMs] = useState(() => performance.now())
  return (
    <button
      type="button"
      class={className}
      ref={takeFocus}
      onKeyDown={dropHeldEnter}
      onClick={({ detail }) => {
        // A click with a key has the number 0.
        if (detail === 1 || (detail === 0 && performance.now() - shownAtMs > SEEN_MS)) closeSheet()
      }}
    >
      {children}
    </button>
  )
}

interface WhoProps {
  readonly siteId: string
  readonly target: Target
  readonly children: ComponentChildren
}

export function Who({ siteId, target, children }: WhoProps): JSX.Element {
  const id = toId(target)
  const title = toTitle(target)
  return (
    <div class="who">
      {target.kind === 'user' ? <Monogram name={title} /> : <KindIcon kind={target.kind} />}
      <span class="named">
        <strong>{title}</strong>
        <span class="meta">
          {id === undefined
            ? say('at {site}', { site: siteId })
            : say('{id} at {site}', { id: <Id value={id} />, site: siteId })}
        </span>
      </span>
      {children}
    </div>
  )
}

const KIND_ICONS: Readonly<Record<Exclude<Target['kind'], 'user'>, IconName>> = {
  credential: 'credentials',
  token: 'tokens',
  issuer: 'issuers',
  issuer_key: 'issuers',
  api_key: 'keys',
  bearer: 'tokens',
  change: 'settings',
  many: 'users',
}

function KindIcon({ kind }: { readonly kind: Exclude<Target['kind'], 'user'> }): JSX.Element {
  return (
    <span class="monogram big">
      <Icon name={KIND_ICONS[kind]} size={22} />
    </span>
  )
}

interface EndsProps {
  readonly target: Target
  /** Undefined while it is loaded: grey blocks of the same size. */
  readonly preview: Preview | undefined
  readonly isUpperBound: boolean
}

export function Ends({ target, preview, isUpperBound }: EndsProps): JSX.Element {
  const isSingle = ['user', 'credential', 'token'].includes(target.kind)
  const bounded = ({ count, complete }: Preview['users'], less = 0) =>
    `${isUpperBound ? '≤ ' : ''}${formatCount(count - less)}${complete ? '' : '+'}`
  const started = preview && preview.sign_ins + preview.offers
  const figures: readonly (readonly [word: string, figure: string | undefined])[] = [
    isSingle
      ? [say('credentials'), preview && bounded(preview.credentials, preview.delegated_credentials)]
      : [say('users'), preview && bounded(preview.users)],
    isSingle
      ? [say('delegated'), preview && formatCount(preview.delegated_credentials)]
      : [say('credentials'), preview && bounded(preview.credentials)],
    [say('live tokens'), preview && bounded(preview.tokens)],
    [
      preview === undefined || preview.offers === 0 ? say('open sign-ins') : say('sign-ins, offers'),
      started === undefined ? undefined : formatCount(started),
    ],
  ]
  return (
    <section aria-busy={preview === undefined}>
      <h3>{say('This ends')}</h3>
      <dl class="counts">
        {figures.map(([word, figure]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{figure ?? <span class="block" />}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
