import { createRequire } from 'node:module'
import { type Html, html } from '../pages/html.ts'

/** What is used of highlight.js. Its own types would add those of a browser to all of this code. */
interface Highlighter {
  registerLanguage(name: string, grammar: unknown): void
  highlight(
    text: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ): { readonly value: string }
}

/** The languages that are highlighted, by the word after the fence: label, and grammar. */
const LANGUAGES: Readonly<Record<string, readonly [label: string, grammar: string]>> = {
  sh: ['Shell', 'bash'],
  js: ['JavaScript', 'javascript'],
  ts: ['TypeScript', 'typescript'],
  json: ['JSON', 'json'],
  yaml: ['YAML', 'yaml'],
  nginx: ['nginx', 'nginx'],
  http: ['HTTP', 'http'],
  sql: ['SQL', 'sql'],
  toml: ['TOML', 'ini'],
  ini: ['INI', 'ini'],
  diff: ['Diff', 'diff'],
  html: ['HTML', 'xml'],
  css: ['CSS', 'css'],
}

let kept: Highlighter | undefined

/** Loaded when the first page is rendered. */
function highlighter(): Highlighter {
  if (kept !== undefined) return kept
  const require = createRequire(import.meta.url)
  const loaded = require('highlight.js/lib/core') as Highlighter
  for (const [name, [, grammar]] of Object.entries(LANGUAGES))
    loaded.registerLanguage(name, require(`highlight.js/lib/languages/${grammar}`))
  kept = loaded
  return loaded
}

/** The classes of the style sheet for the names that the library gives to parts of code. */
const CLASSES: Readonly<Record<string, string>> = {
  keyword: 'k',
  built_in: 'k',
  literal: 'n',
  number: 'n',
  string: 's',
  regexp: 's',
  attr: 'p',
  attribute: 'p',
  property: 'p',
  name: 'k',
  variable: 'p',
  comment: 'c',
  section: 't',
  type: 't',
  'selector-class': 't',
  addition: 'add',
  deletion: 'del',
}

/** One block of code, and the response that belongs to it. */
export interface Code {
  readonly text: string
  /** `sh`, `js`, …; anything else is plain text. */
  readonly language: string
}

/**
 * A block with the name of its language, in which the page's script puts a button to copy. An
 * answer is attached to its request.
 */
export function renderCode(code: Code, answer?: Code): Html {
  const label = LANGUAGES[code.language]?.[0]
  if (label === undefined && answer === undefined)
    return html`<div class="code">${pre(code, 'Text', '')}</div>\n`
  return html`<div class="code"><div class="code-head"><span class="name">${label ?? 'Text'}</span></div>${pre(code, label ?? 'Text', code.language === 'sh' ? 'wrap' : '')}${
    answer === undefined ? '' : pre(answer, code.language === 'sh' ? 'Response' : 'Output', 'answer')
  }</div>\n`
}

/** A drawing made of characters. Screen readers get its description instead. */
export function renderDrawing(text: string, description: string): Html {
  return html`<div class="code"><pre tabindex="0" role="group" aria-label="Drawing"><code role="img" aria-label="${description}">${text}</code></pre></div>\n`
}

/** Long lines scroll, and what scrolls must be reachable with the keyboard. */
function pre(code: Code, label: string, className: string): Html {
  const named = className === '' ? '' : html` class="${className}"`
  return html`<pre${named} tabindex="0" role="group" aria-label="${label}"><code>${highlight(code)}</code></pre>`
}

function highlight({ text, language }: Code): Html {
  if (LANGUAGES[language] === undefined) return html`${text}`
  const { value } = highlighter().highlight(text, { language, ignoreIllegals: true })
  // The library escapes the text, so every tag is one of its own.
  const markup = value.replaceAll(/<span class="hljs-([\w-]+)[^"]*">/g, (_, name: string) => {
    const found = CLASSES[name]
    return found === undefined ? '<span>' : `<span class="${found}">`
  })
  return { markup }
}
