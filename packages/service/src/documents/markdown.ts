import { Marked, type Renderer, type Token, type Tokens } from 'marked'
import { type Html, html } from '../pages/html.ts'

export interface Heading {
  readonly level: number
  readonly id: string
  readonly text: string
}

/** A document as markup, with the headings that can be linked to. */
export interface Rendered {
  readonly content: Html
  readonly headings: readonly Heading[]
  /** The first sentence, as text. */
  readonly description: string
}

/** Where a link or picture of a document leads: an address, or undefined if it is not served. */
export type ResolveLink = (target: string) => string | undefined

/**
 * Renders a document of the repository. Markup in the document is shown as text, except comments,
 * which are left out, anchors (`<a id="…"></a>`), and pictures with a version for dark pages.
 */
export function renderMarkdown(text: string, resolveLink: ResolveLink): Rendered {
  const headings: Heading[] = []
  const marked = new Marked({ gfm: true, renderer: createRenderer(resolveLink, headings) })
  const tokens = marked.lexer(text)
  const description = findDescription(tokens)
  return { content: { markup: marked.parser(tokens) }, headings, description }
}

const DESCRIPTION_CHARS_MAX = 200

/** The first sentence of the first paragraph, without markup. */
function findDescription(tokens: readonly Token[]): string {
  const paragraph = tokens.find(({ type }) => type === 'paragraph')
  const text = paragraph === undefined ? '' : plainText([paragraph]).replace(/^(?:Context|Decision)\.\s/, '')
  const [sentence = ''] = /^.*?[.:!?](?=\s|$)|^.+/s.exec(text.trim()) ?? []
  const line = sentence.replaceAll(/\s+/g, ' ').replace(/:$/, '.')
  return line.length <= DESCRIPTION_CHARS_MAX ? line : `${line.slice(0, DESCRIPTION_CHARS_MAX - 1).trim()}…`
}

/** The text of tokens, as a reader sees it. */
export function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token): string => {
      if (token.type === 'html') return ''
      if (token.type === 'codespan') return token.text as string
      if ('tokens' in token && token.tokens !== undefined) return plainText(token.tokens)
      if (token.type === 'br') return ' '
      return 'text' in token ? unescapeText(String(token.text)) : ''
    })
    .join('')
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }

function unescapeText(text: string): string {
  return text.replaceAll(/&(lt|gt|amp|quot);/g, (_, name: string) => ENTITIES[name] ?? '')
}

type Overrides = Partial<Omit<Renderer, 'parser' | 'options' | 'constructor'>>

function createRenderer(resolveLink: ResolveLink, headings: Heading[]): Overrides {
  let isAnchorOpen = false
  return {
    heading(this: Renderer, { tokens, depth }: Tokens.Heading) {
      const text = this.parser.parseInline(tokens, this.parser.textRenderer)
      const id = createHeadingId(text, headings)
      headings.push({ level: depth, id, text })
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    code({ text, lang }: Tokens.Code) {
      const [language = ''] = /^[\w-]*/.exec(lang ?? '') ?? []
      // Long lines scroll, and what scrolls must be reachable with the keyboard.
      return html`<pre tabindex="0" role="group" aria-label="${language || 'text'}"><code>${text}</code></pre>\n`
        .markup
    },
    codespan: ({ text }: Tokens.Codespan) => html`<code>${withLineBreaks(text)}</code>`.markup,
    table(this: Renderer, { header, rows }: Tokens.Table) {
      const cell = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens)
      const titles = header.map((title) =>
        title.text === '' ? '<td></td>' : `<th scope="col">${cell(title)}</th>`,
      )
      const body = rows.map((row) => `<tr>${row.map((one) => `<td>${cell(one)}</td>`).join('')}</tr>\n`)
      const head = `<thead><tr>${titles.join('')}</tr></thead>\n<tbody>\n${body.join('')}</tbody>`
      return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n${head}\n</table></div>\n`
    },
    link(this: Renderer, { href, tokens }: Tokens.Link) {
      const text = this.parser.parseInline(tokens)
      const target = resolveLink(href)
      return target === undefined ? text : html`<a href="${target}">${{ markup: text }}</a>`.markup
    },
    image({ href, text }: Tokens.Image) {
      const source = resolveLink(href)
      return (source === undefined ? html`${text}` : html`<img src="${source}" alt="${text}">`).markup
    },
    html({ text }: Tokens.HTML | Tokens.Tag) {
      if (/^<!--[\s\S]*?-->\s*$/.test(text)) return ''
      const picture = findPicture(text, resolveLink)
      if (picture !== undefined) return picture.markup
      const isAnchor = isAnchorOpen ? text === '</a>' : /^<a id="[\w-]{1,64}">$/.test(text)
      if (isAnchor) isAnchorOpen = !isAnchorOpen
      return isAnchor ? text : html`${text}`.markup
    },
    // The library passes text within tags such as <script> on as it is.
    text(this: Renderer, token: Tokens.Text | Tokens.Escape) {
      return 'tokens' in token && token.tokens
        ? this.parser.parseInline(token.tokens)
        : escapeText(token.text)
    },
  }
}

const DARK = '(prefers-color-scheme: dark)'
const PICTURE =
  /^<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([\w./-]+)">\s*<img src="([\w./-]+)" alt="([^"<>&]*)">\s*<\/picture>\s*$/

/** A picture in two versions. Undefined for all other markup. */
function findPicture(text: string, resolveLink: ResolveLink): Html | undefined {
  const [, dark = '', light = '', alt = ''] = PICTURE.exec(text) ?? []
  const [darkUrl, lightUrl] = [resolveLink(dark), resolveLink(light)]
  if (light === '' || darkUrl === undefined || lightUrl === undefined) return undefined
  return html`<picture><source media="${DARK}" srcset="${darkUrl}"><img src="${lightUrl}" alt="${alt}"></picture>\n`
}

const NAME_CHARS_MAX = 14
const NAME_JOINT = /(?<=[\w>}][/_=?.])(?=[\w<{])/
const URL_JOINT = /(?<=[\w>}]\/)(?=[\w<{])/

/**
 * Text of one line. In tables, long names and URLs may break after a separator; options such as
 * `--site` never break after their hyphens.
 */
function withLineBreaks(text: string): readonly Html[] {
  return text.split(/(?<= )|(?= )/).map((word) => {
    if (word.startsWith('-')) return html`<span class="option">${word}</span>`
    const parts =
      word.length > NAME_CHARS_MAX ? word.split(word.includes('://') ? URL_JOINT : NAME_JOINT) : [word]
    return html`${parts.map((part, i) => (i === 0 ? html`${part}` : html`<wbr>${part}`))}`
  })
}

/** Escapes everything but character references. */
function escapeText(text: string): string {
  return text.replaceAll(
    /[<>"']|&(?!(?:#\d+|#x[\da-f]+|[a-z]+);)/gi,
    (character) => `&#${character.charCodeAt(0)};`,
  )
}

/** The id that code hosts give a heading, so that the same links work there and here. */
function createHeadingId(text: string, headings: readonly Heading[]): string {
  const base = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
  const same = headings.filter(({ id }) => id === base || new RegExp(`^${base}-\\d+$`).test(id)).length
  return same === 0 ? base : `${base}-${same}`
}
