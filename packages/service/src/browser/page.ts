import type { Texts } from '../pages/texts.ts'

/** The words of one page. */
export interface PageTexts<Name extends 'signIn' | 'wallet'> extends Pick<Texts, 'lang' | 'common' | 'verbs' | 'problems'> {
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

/** The element of that id. Throws when the page has none: then page and script do not belong together. */
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

/** Puts words where a screen reader will read them out; nothing, to take them away. */
export function tell(place: HTMLElement, words?: Words, kind: 'good' | 'bad' = 'bad'): void {
  const notice = words && make('div', `notice ${kind}`, make('strong', '', words.title), make('p', '', words.next))
  place.replaceChildren(...(notice === undefined ? [] : [notice]))
}

/** A moment, in the words of the page's language and the reader's time zone. */
export function timeWords(ms: number, lang: string): string {
  return new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'short' }).format(ms)
}
