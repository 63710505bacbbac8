import type { Messages } from '../pages/messages.ts'

/** The texts of one page. */
export interface PageMessages<Name extends 'signIn' | 'wallet'>
  extends Pick<Messages, 'lang' | 'common' | 'verbs' | 'problems'> {
  readonly page: Messages[Name]
}

/** Something that happened, and what to do next. */
export interface Message {
  readonly title: string
  readonly next: string
}

/** The data that the service put into this page. */
export function readPageData<Data>(): Data {
  return JSON.parse(requireElement('data', HTMLTemplateElement).content.textContent ?? '') as Data
}

/** The element with this id. Throws when the page has none. */
export function requireElement<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`)
  return found
}

/** An element with a class and its content. Strings become text, never markup. */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  if (className !== '') element.className = className
  element.append(...children)
  return element
}

export interface MessageOptions {
  readonly kind?: 'good' | 'bad'
  /** Moves the focus to the message, since the button that the user pressed may be gone. */
  readonly focus?: boolean
  /** A button below the message. */
  readonly action?: { readonly label: string; readonly run: () => void }
}

/** Shows a message where screen readers announce it, or removes the current one. */
export function showMessage(
  place: HTMLElement,
  message?: Message,
  { kind = 'bad', focus = false, action }: MessageOptions = {},
): void {
  const notice =
    message &&
    createElement(
      'div',
      `notice ${kind}`,
      createElement('strong', '', message.title),
      createElement('p', '', message.next),
    )
  if (action !== undefined && notice !== undefined) {
    const button = createElement('button', '', action.label)
    button.type = 'button'
    button.addEventListener('click', action.run)
    notice.append(button)
  }
  place.replaceChildren(...(notice === undefined ? [] : [notice]))
  if (focus) place.focus()
}

/** A time in the language of the page and the time zone of the browser. */
export function formatTime(ms: number, lang: string): string {
  return new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'short' }).format(ms)
}

/** A duration in the language of the page, in whole days, hours or minutes. */
export function formatDuration(seconds: number, lang: string): string {
  const [unit, size] =
    seconds >= 172_800
      ? (['day', 86_400] as const)
      : seconds >= 7200
        ? (['hour', 3600] as const)
        : (['minute', 60] as const)
  const count = Math.max(1, Math.round(seconds / size))
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}
