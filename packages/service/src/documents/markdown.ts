import { type Html, html } from '../pages/html.ts'
import { inline, type LinkOf, plainWords } from './markdown-inline.ts'

export interface Heading {
  readonly level: number
  readonly id: string
  readonly words: string
}

/** A document as markup, with the headings that can be linked to. */
export interface Rendered {
  readonly content: Html
  readonly headings: readonly Heading[]
}

/**
 * Renders the part of Markdown that our documents use: headings, paragraphs, lists, quotes, tables,
 * fenced code; comments are left out. Whatever it does not know comes out as text; nothing in the
 * text can become markup of its own.
 */
export function renderMarkdown(text: string, linkOf: LinkOf): Rendered {
  const headings: Heading[] = []
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  return { content: html`${blocks(lines, { linkOf, headings, depth: 0 })}`, headings }
}

interface Context {
  readonly linkOf: LinkOf
  readonly headings: Heading[]
  readonly depth: number
}

/** Lists in lists in quotes: our own documents stop at two. */
const DEPTH_MAX = 8

const FENCE = /^(`{3,})\s*([\w-]*)/
const HEADING = /^(#{1,6}) +(.+?) *#*$/
const ITEM = /^( {0,3})([-*]|\d{1,9}\.) +/
/** A line of a text that happens to begin with a year is no list. */
const INTERRUPTING_ITEM = /^ {0,3}(?:[-*]|1\.) +/
const DIVIDER = /^\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/

function blocks(lines: readonly string[], context: Context): Html[] {
  const made: Html[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      at++
      continue
    }
    const [block, next] = blockAt(lines, at, line, context)
    made.push(block)
    at = next
  }
  return made
}

/** The block that begins at this line, and where the next may begin. */
function blockAt(
  lines: readonly string[],
  at: number,
  line: string,
  context: Context,
): readonly [Html, number] {
  if (line.startsWith('<!--')) return comment(lines, at)
  const fence = FENCE.exec(line)
  if (fence !== null) return fenced(lines, at, String(fence[1]), fence[2] ?? '')
  const [, marks, words] = HEADING.exec(line) ?? []
  if (marks !== undefined && words !== undefined) return [heading(marks.length, words, context), at + 1]
  if (isTableAt(lines, at)) return table(lines, at, context)
  if (context.depth < DEPTH_MAX && line.startsWith('>')) return quote(lines, at, context)
  if (context.depth < DEPTH_MAX && ITEM.test(line)) return list(lines, at, context)
  return paragraph(lines, at, context)
}

/** A comment block ends with the line that closes it; one that is never closed is text. */
function comment(lines: readonly string[], at: number): readonly [Html, number] {
  const end = lines.findIndex((line, i) => i >= at && line.includes('-->'))
  return end < 0 ? [html`<p>${lines[at] ?? ''}</p>\n`, at + 1] : [html``, end + 1]
}

function fenced(
  lines: readonly string[],
  at: number,
  marks: string,
  language: string,
): readonly [Html, number] {
  const found = lines.findIndex((line, i) => i > at && line.startsWith(marks))
  const end = found < 0 ? lines.length : found
  const code = lines.slice(at + 1, end).join('\n')
  // Long lines scroll inside of it, and what scrolls must be reached by keyboard.
  const label = language === '' ? 'text' : language
  return [html`<pre tabindex="0" role="group" aria-label="${label}"><code>${code}</code></pre>\n`, end + 1]
}

function heading(level: number, words: string, { linkOf, headings }: Context): Html {
  const plain = plainWords(words)
  const base = headingId(plain)
  const same = headings.filter(({ id }) => id === base || new RegExp(`^${base}-\\d+$`).test(id)).length
  const id = same === 0 ? base : `${base}-${same}`
  headings.push({ level, id, words: plain })
  const content = inline(words, linkOf)
  const tag = { markup: `h${level}` }
  return html`<${tag} id="${id}">${content}</${tag}>\n`
}

/**
 * As the places where people read the files make them, so that the same links work here and there.
 */
function headingId(words: string): string {
  return words
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

function isTableAt(lines: readonly string[], at: number): boolean {
  return (
    (lines[at] ?? '').includes('|') &&
    DIVIDER.test((lines[at + 1] ?? '').trim()) &&
    (lines[at + 1] ?? '').includes('-')
  )
}

function table(lines: readonly string[], at: number, { linkOf }: Context): readonly [Html, number] {
  const end = endOf(lines, at, (line) => line.trim() !== '' && line.includes('|'))
  const [head = [], , ...rows] = lines.slice(at, end).map(cellsOf)
  const wide = head.map((_, i) => i)
  const body = rows.map(
    (row) => html`<tr>${wide.map((i) => html`<td>${inline(row[i] ?? '', linkOf)}</td>`)}</tr>\n`,
  )
  const titles = head.map((cell) =>
    cell === '' ? html`<td></td>` : html`<th scope="col">${inline(cell, linkOf)}</th>`,
  )
  return [
    html`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n<thead><tr>${titles}</tr></thead>\n<tbody>\n${body}</tbody>\n</table></div>\n`,
    end,
  ]
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function quote(lines: readonly string[], at: number, context: Context): readonly [Html, number] {
  const end = endOf(lines, at, (line) => line.startsWith('>'))
  const inside = lines.slice(at, end).map((line) => line.replace(/^> ?/, ''))
  return [html`<blockquote>\n${blocks(inside, { ...context, depth: context.depth + 1 })}</blockquote>\n`, end]
}

/**
 * Items of one kind that follow each other. What is indented below an item belongs to it, and so do
 * lines that just go on.
 */
function list(lines: readonly string[], at: number, context: Context): readonly [Html, number] {
  const isOrdered = /^\s*\d/.test(lines[at] ?? '')
  const items: string[][] = []
  let i = at
  for (; i < lines.length; i++) {
    const line = lines[i] ?? ''
    const [mark, indent = ''] = ITEM.exec(line) ?? []
    const isSameKind = /^\d/.test(line) === isOrdered
    if (mark !== undefined && indent === '' && (isSameKind || INTERRUPTING_ITEM.test(line))) {
      if (!isSameKind) break
      items.push([line.slice(mark.length)])
    } else if (line.trim() === '') {
      if (!/^ {2,}\S/.test(lines[i + 1] ?? '') && !ITEM.test(lines[i + 1] ?? '')) break
      items.at(-1)?.push('')
    } else if (/^ {2}/.test(line)) items.at(-1)?.push(line.replace(/^ {2,3}(?=\S)|^ {2}/, ''))
    else if (lines[i - 1]?.trim() !== '' && !startsBlock(line)) items.at(-1)?.push(line)
    else break
  }
  const inside = items.map(
    (item) => html`<li>${itemContent(item, { ...context, depth: context.depth + 1 })}</li>\n`,
  )
  return [isOrdered ? html`<ol>\n${inside}</ol>\n` : html`<ul>\n${inside}</ul>\n`, Math.max(i, at + 1)]
}

/** An item: its first lines stand without a paragraph around them. */
function itemContent(lines: readonly string[], context: Context): Html {
  const end = endOf(lines, 0, (line) => line.trim() !== '' && !startsBlock(line))
  return html`${inline(joined(lines.slice(0, end)), context.linkOf)}${blocks(lines.slice(end), context)}`
}

function paragraph(lines: readonly string[], at: number, { linkOf }: Context): readonly [Html, number] {
  const end = endOf(lines, at, (line, i) => line.trim() !== '' && !startsBlock(line) && !isTableAt(lines, i))
  return [html`<p>${inline(joined(lines.slice(at, end)), linkOf)}</p>\n`, end]
}

const startsBlock = (line: string) =>
  FENCE.test(line) || HEADING.test(line) || INTERRUPTING_ITEM.test(line) || line.startsWith('>')
const joined = (lines: readonly string[]) => lines.map((line) => line.trim()).join('\n')

/** Behind the first line, and behind each further one that goes on. */
function endOf(lines: readonly string[], at: number, goesOn: (line: string, i: number) => boolean): number {
  let end = at + 1
  while (end < lines.length && goesOn(lines[end] ?? '', end)) end++
  return end
}
