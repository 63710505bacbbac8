import type { Texts } from '../pages/texts.ts'

/** The words of one page. */
export interface PageTexts<Name extends 'signIn' | 'wallet'>
  extends Pick<Texts, 'lang' | 'common' | 'verbs' | 'problems'> {
  readonly page: Texts[Name]
}

/** Something that happened, and what to do next. */
export interface Words {
  readonly title: string
  readonly next: string
}

/** What the service told this page. */
export function pageData<Data>(): Data {
  return JSON.parse(part('data', HTMLTemplateElement).content.textContent ?? '') as Data
}

/**
 * The element of that id. Throws when the page has none: then page and script do not belong
 * together.
 */
export function part<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`)
  return found
}

/** An element with a class and what is in it. Text is text, whatever it says. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  made.append(...children)
  return made
}

export interface Telling {
  readonly kind?: 'good' | 'bad'
  /**
   * Moves the focus to the words: for what follows from something that the person did, whose button
   * may be gone.
   */
  readonly focus?: boolean
  /** A button below the words, and what it does. */
  readonly action?: { readonly words: string; readonly run: () => void }
}

/** Puts words where a screen reader will read them out; nothing, to take them away. */
export function tell(
  place: HTMLElement,
  words?: Words,
  { kind = 'bad', focus = false, action }: Telling = {},
): void {
  const notice =
    words && make('div', `notice ${kind}`, make('strong', '', words.title), make('p', '', words.next))
  if (action !== undefined && notice !== undefined) {
    const button = make('button', '', action.words)
    button.type = 'button'
    button.addEventListener('click', action.run)
    notice.append(button)
  }
  place.replaceChildren(...(notice === undefined ? [] : [notice]))
  if (focus) place.focus()
}

/** A moment, in the words of the page's language and the reader's time zone. */
export function timeWords(ms: number, lang: string): string {
  return new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'short' }).format(ms)
}

/** A span of time in the page's language, in whole days, hours or minutes. */
export function spanWords(seconds: number, lang: string): string {
  const [unit, size] =
    seconds >= 172_800
      ? (['day', 86_400] as const)
      : seconds >= 7200
        ? (['hour', 3600] as const)
        : (['minute', 60] as const)
  const count = Math.max(1, Math.round(seconds / size))
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}
