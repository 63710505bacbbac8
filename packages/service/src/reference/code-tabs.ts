import { renderCode } from '../documents/code-block.ts'
import { type Html, html } from '../pages/html.ts'

/** One form of an example. */
export interface CodeTab {
  readonly name: string
  /** Whether it is a success or a rejection. */
  readonly mark?: 'ok' | 'no'
  readonly language: 'sh' | 'ts' | 'json' | 'text'
  readonly text: string
}

/** Several forms of an example, one of which is shown. Radio buttons, so it needs no script. */
export function codeTabs(label: string, tabs: readonly CodeTab[]): Html {
  const group = label.toLowerCase().replaceAll(/\W+/g, '-')
  return html`<fieldset class="tabs"><legend>${label}</legend>
${tabs.map(({ name, mark = '' }, i) => html`<input type="radio" name="${group}" id="${group}-${i}"${i === 0 ? html` checked` : ''}><label for="${group}-${i}"${mark === '' ? '' : html` class="${mark}"`}>${name}</label>\n`)}
${tabs.map(({ name, language, text }) => html`<div class="tab" data-name="${label}: ${name}">${renderCode({ language, text })}</div>\n`)}</fieldset>`
}
