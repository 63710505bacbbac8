import { Marked, type Renderer, type Token, type Tokens } from 'marked'
import { type Html, html } from '../pages/html.ts'
import { type Code, renderCode, renderDrawing } from './code-block.ts'
import { ICONS } from './icons.ts'
import { escapeText, plainText } from './plain-text.ts'

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
  /** The document as the library parsed it, for the search. */
  readonly tokens: readonly Token[]
}

/** Where a document leads. */
export interface Targets {
  /** The address of a link; undefined if it is not served. */
  link(target: string): string | undefined
  picture(target: string): Picture | undefined
  /** Changes the text of a block of code, or of code within a line. */
  code?(text: string, language: string): string
  codespan?(text: string): string
}

export interface Picture {
  readonly url: string
  readonly width?: number
  readonly height?: number
}

/**
 * Renders a document of the repository. Markup in the document is shown as text, except comments,
 * which are left out, anchors (`<a id="…"></a>`), and pictures with a version for dark pages.
 *
 * A picture `x.svg` is replaced by `x-narrow.svg` in narrow windows and by `x-dark.svg` on dark
 * pages, where such a file exists. `> [!NOTE]` and `> [!WARNING]` are notices.
 */
export function renderMarkdown(text: string, targets: Targets): Rendered {
  const headings: Heading[] = []
  const marked = new Marked({ gfm: true, renderer: createRenderer(targets, headings) })
  const tokens = marked.lexer(text)
  markLead(tokens)
  const description = findDescription(tokens)
  const markup = marked.parser(attachAnswers(tokens))
  return { content: { markup }, headings, description, tokens }
}

const DESCRIPTION_CHARS_MAX = 200

/** The first sentence of the first paragraph, without markup. */
function findDescription(tokens: readonly Token[]): string {
  const paragraph = tokens.find(
    (token) => token.type === 'paragraph' && !isPicture(token as Tokens.Paragraph),
  )
  const text = paragraph === undefined ? '' : plainText([paragraph]).replace(/^(?:Context|Decision)\.\s/, '')
  const [sentence = ''] = /^.*?[.:!?](?=\s|$)|^.+/s.exec(text.trim()) ?? []
  const line = sentence.replaceAll(/\s+/g, ' ').replace(/:$/, '.')
  return line.length <= DESCRIPTION_CHARS_MAX ? line : `${line.slice(0, DESCRIPTION_CHARS_MAX - 1).trim()}…`
}

const LEAD_CHARS_MAX = 280

/** A short first paragraph introduces the page in larger letters. */
function markLead(tokens: readonly Token[]): void {
  const [title, next] = tokens.filter(({ type }) => type !== 'space' && type !== 'html')
  if (title?.type !== 'heading' || next?.type !== 'paragraph' || isPicture(next as Tokens.Paragraph)) return
  const isShort = plainText([next]).length <= LEAD_CHARS_MAX && next.tokens?.[0]?.type !== 'strong'
  if (isShort) Object.assign(next, { isLead: true })
}

/** A response that directly follows its request becomes a part of it. */
function attachAnswers(tokens: readonly Token[]): Token[] {
  const attached: Token[] = []
  let request: Token | undefined
  for (const token of tokens) {
    const language = token.type === 'code' ? findLanguage(token as Tokens.Code) : ''
    const wanted = request === undefined ? undefined : ANSWERS[findLanguage(request as Tokens.Code)]
    if (request !== undefined && wanted?.includes(language)) {
      Object.assign(request, { answer: token })
      request = undefined
      continue
    }
    if (token.type !== 'space') request = language in ANSWERS ? token : undefined
    attached.push(token)
  }
  return attached
}

const ANSWERS: Readonly<Record<string, readonly string[]>> = { sh: ['json', 'text'], js: ['text'] }

function findLanguage({ lang = '' }: Tokens.Code): string {
  return /^[\w-]*/.exec(lang)?.[0] ?? ''
}

const isPicture = ({ tokens }: Tokens.Paragraph): boolean =>
  tokens.length === 1 && tokens[0]?.type === 'image'

type Overrides = Partial<Omit<Renderer, 'parser' | 'options' | 'constructor'>>

function createRenderer(targets: Targets, headings: Heading[]): Overrides {
  let isAnchorOpen = false
  const toCode = (token: Tokens.Code): Code => {
    const language = findLanguage(token)
    return { language, text: targets.code?.(token.text, language) ?? token.text }
  }
  return {
    heading(this: Renderer, { tokens, depth }: Tokens.Heading) {
      const text = this.parser.parseInline(tokens, this.parser.textRenderer)
      const id = createHeadingId(text, headings)
      headings.push({ level: depth, id, text: plainText(tokens) })
      const content = this.parser.parseInline(tokens)
      const isLinked = depth > 1 && !content.includes('<a ')
      const inner = isLinked ? `<a class="anchor" href="#${id}">${content}</a>` : content
      return `<h${depth} id="${id}">${inner}</h${depth}>\n`
    },
    paragraph(this: Renderer, token: Tokens.Paragraph & { readonly isLead?: boolean }) {
      const className = isPicture(token) ? ' class="picture"' : token.isLead ? ' class="lead"' : ''
      return `<p${className}>${this.parser.parseInline(token.tokens)}</p>\n`
    },
    code(token: Tokens.Code & { readonly answer?: Tokens.Code }) {
      const { text, answer } = token
      if (/[│┌└┐┘├▼▲►]/.test(text))
        return renderDrawing(text, `Drawing: ${headings.at(-1)?.text ?? ''}. The text describes it.`).markup
      return renderCode(toCode(token), answer && toCode(answer)).markup
    },
    codespan: ({ text }: Tokens.Codespan) =>
      html`<code>${withLineBreaks(targets.codespan?.(text) ?? text)}</code>`.markup,
    table(this: Renderer, { header, rows }: Tokens.Table) {
      const cell = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens)
      const named = header.map(capitalize)
      const isEnd = (i: number) => header[i]?.align === 'right'
      const titles = named.map((title, i) =>
        title.text === ''
          ? '<td></td>'
          : `<th scope="col"${isEnd(i) ? ' class="end"' : ''}>${cell(title)}</th>`,
      )
      const labels = named.map(({ tokens }) => plainText(tokens))
      const value = (one: Tokens.TableCell, i: number) => {
        const label = i === 0 || !labels[i] ? '' : html` data-label="${labels[i]}"`.markup
        return `<td${label}${isEnd(i) ? ' class="end"' : ''}>${cell(one)}</td>`
      }
      const body = rows.map((row) => `<tr>${row.map(value).join('')}</tr>\n`)
      const head = `<thead><tr>${titles.join('')}</tr></thead>\n<tbody>\n${body.join('')}</tbody>`
      return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="stack${findForm(header.length)}">\n${head}\n</table></div>\n`
    },
    blockquote(this: Renderer, { tokens }: Tokens.Blockquote) {
      const markup = this.parser.parse(tokens)
      const [mark, kind = ''] = /^<p>\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*/.exec(markup) ?? []
      if (mark === undefined) return `<blockquote>\n${markup}</blockquote>\n`
      const content = { markup: `<p>${markup.slice(mark.length)}` }
      const isWarning = kind === 'WARNING' || kind === 'CAUTION'
      return html`<div class="notice${isWarning ? ' notice-warning' : ''}" role="note">${isWarning ? ICONS.warning : ICONS.note}<div>${content}</div></div>\n`
        .markup
    },
    link(this: Renderer, { href, tokens }: Tokens.Link) {
      const text = this.parser.parseInline(tokens)
      const target = targets.link(href)
      return target === undefined ? text : html`<a href="${target}">${{ markup: text }}</a>`.markup
    },
    image({ href, text }: Tokens.Image) {
      return (renderPicture(href, text, targets) ?? html`${text}`).markup
    },
    html({ text }: Tokens.HTML | Tokens.Tag) {
      if (/^<!--[\s\S]*?-->\s*$/.test(text)) return ''
      const picture = findPicture(text, targets)
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

/** Tables with many columns have smaller letters; with more, each row is a list of its cells. */
const COLUMNS_MANY = 5
const COLUMNS_LISTED = 6

function findForm(columns: number): string {
  if (columns >= COLUMNS_LISTED) return ' listed'
  return columns >= COLUMNS_MANY ? ' many' : ''
}

/** The title of a column starts with a capital letter, unless it is code. */
function capitalize(title: Tokens.TableCell): Tokens.TableCell {
  const [first, ...rest] = title.tokens
  if (first?.type !== 'text') return title
  const text = first.text.charAt(0).toUpperCase() + first.text.slice(1)
  return { ...title, tokens: [{ ...first, text } as Token, ...rest] }
}

const DARK = '(prefers-color-scheme: dark)'
const NARROW = '(max-width: 600px)'

/** A picture with its versions for narrow windows and dark pages. */
function renderPicture(target: string, alt: string, targets: Targets): Html | undefined {
  const main = targets.picture(target)
  if (main === undefined) return undefined
  const version = (suffix: string) => targets.picture(target.replace(/(?=\.\w+$)/, suffix))
  const sources = [
    { media: `${NARROW} and ${DARK}`, picture: version('-narrow-dark') },
    { media: NARROW, picture: version('-narrow') },
    { media: DARK, picture: version('-dark') },
  ].flatMap(({ media, picture }) => (picture === undefined ? [] : [source(media, picture)]))
  const image = html`<img src="${main.url}" alt="${alt}"${size(main)} loading="lazy">`
  return sources.length === 0 ? image : html`<picture>${sources}${image}</picture>`
}

const source = (media: string, picture: Picture): Html =>
  html`<source media="${media}" srcset="${picture.url}"${size(picture)}>`

const size = ({ width, height }: Picture): Html =>
  width === undefined || height === undefined ? html`` : html` width="${width}" height="${height}"`

const PICTURE =
  /^<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([\w./-]+)">\s*<img src="([\w./-]+)" alt="([^"<>&]*)">\s*<\/picture>\s*$/

/** A picture in two versions. Undefined for all other markup. */
function findPicture(text: string, targets: Targets): Html | undefined {
  const [, dark = '', light = '', alt = ''] = PICTURE.exec(text) ?? []
  const [onDark, onLight] = [targets.picture(dark), targets.picture(light)]
  if (light === '' || onDark === undefined || onLight === undefined) return undefined
  return html`<p class="picture"><picture>${source(DARK, onDark)}<img src="${onLight.url}" alt="${alt}"${size(onLight)} loading="lazy"></picture></p>\n`
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
