import type { Messages } from '../pages/messages.ts'
import type { Brand } from './credential-store.ts'
import { toMonogram, toTone } from './describe.ts'

/** The texts of one page. */
export interface PageMessages<Name extends 'signIn' | 'wallet'>
  extends Pick<Messages, 'lang' | 'common' | 'verbs' | 'nouns' | 'problems'> {
  readonly page: Messages[Name]
}

/** Something that happened, and what to do next. */
export interface Message {
  readonly title: string
  readonly next: string
}

/** The service puts the texts in the language of the page before the script. */
declare const PAGE_MESSAGES: unknown

export function readPageMessages<Name extends 'signIn' | 'wallet'>(): PageMessages<Name> {
  return PAGE_MESSAGES as PageMessages<Name>
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

/** A text with the name of a site, which is isolated: it may be written right to left. */
export function fillSite(text: string, site: string): readonly (Node | string)[] {
  return text.split(/(\{site\})/).map((part) => (part === '{site}' ? createElement('bdi', '', site) : part))
}

/** The name that a site has chosen beside the id that the service vouches for. */
export function createIdentity(
  siteId: string,
  name: string,
  { common }: Pick<Messages, 'common'>,
  { brand, heading = 'b' }: { readonly brand?: Brand | undefined; readonly heading?: 'b' | 'h2' } = {},
): HTMLDivElement {
  const monogram = createElement('span', `monogram tone-${toTone(siteId)}`, toMonogram(name))
  monogram.ariaHidden = 'true'
  const sign = brand?.logoPath === undefined ? monogram : createLogo(brand.logoPath, monogram)
  return createElement(
    'div',
    'who',
    sign,
    createElement(
      'div',
      '',
      createElement(heading, '', createElement('bdi', '', name)),
      createElement(
        'span',
        'verified',
        createElement('bdi', '', siteId),
        ' ',
        createElement('span', 'tick', common.verified),
      ),
    ),
  )
}

/** Our own path, in a box of fixed size. A logo that was replaced since is not shown. */
function createLogo(path: string, monogram: HTMLElement): HTMLImageElement {
  const logo = createElement('img', 'logo')
  Object.assign(logo, { alt: '', width: 44, height: 44, onerror: () => logo.replaceWith(monogram) })
  logo.src = new URL(path, location.origin).pathname
  return logo
}

export interface MessageOptions {
  readonly kind?: 'good' | 'bad'
  /** Moves the focus to the message, since the button that the user pressed may be gone. */
  readonly focus?: boolean
  /** A button below the message, or a link. */
  readonly action?:
    | { readonly label: string; readonly run: () => void }
    | { readonly label: string; readonly href: string }
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
    const control = createElement('href' in action ? 'a' : 'button', 'btn small', action.label)
    if ('href' in action) Object.assign(control, { href: action.href, rel: 'noreferrer' })
    else {
      Object.assign(control, { type: 'button' })
      control.addEventListener('click', action.run)
    }
    notice.append(control)
  }
  place.replaceChildren(...(notice === undefined ? [] : [notice]))
  if (focus) place.focus()
}

/** The reader's own variant of the language of the page, for example en-GB. */
function toLocale(lang: string): string {
  const [primary] = lang.split('-')
  return navigator.languages.find((one) => one.split('-')[0] === primary) ?? lang
}

/** A time in the language of the page and the time zone of the browser. */
export function formatTime(ms: number, lang: string): string {
  return new Intl.DateTimeFormat(toLocale(lang), { dateStyle: 'long', timeStyle: 'short' }).format(ms)
}

const DAY_MS = 86_400_000

/** The day alone, unless the time of day matters because it is within a day. */
export function formatDay(ms: number, lang: string): string {
  if (Math.abs(ms - Date.now()) < DAY_MS) return formatTime(ms, lang)
  return new Intl.DateTimeFormat(toLocale(lang), { dateStyle: 'long' }).format(ms)
}

/** The time of day alone. */
export function formatClock(ms: number, lang: string): string {
  return new Intl.DateTimeFormat(toLocale(lang), { timeStyle: 'short' }).format(ms)
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
  return new Intl.NumberFormat(toLocale(lang), { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}
