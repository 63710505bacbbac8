import type { Html } from '../pages/html.ts'

/**
 * The text of a reference page as Markdown. Knows the elements that these pages use: headings,
 * paragraphs, lists of terms, code and links. Links get the address of the service.
 */
export function toMarkdown({ markup }: Html, baseUrl: string): string {
  // The list under a member shows by itself what it belongs to.
  const tokens = markup
    .replaceAll(/<details class="members"><summary>.*?<\/summary>/g, '<details>')
    .replaceAll(/<wbr>/g, '')
    .split(/(<[^>]*>)/)
  let written = ''
  let depth = 0
  const links: string[] = []
  for (const token of tokens) {
    const [, slash = '', name = ''] = /^<(\/?)([a-z0-9]+)/.exec(token) ?? []
    if (name === '') {
      const text = decode(token).replaceAll(/\s+/g, ' ')
      written += /\s$/.test(written) ? text.trimStart() : text
    } else if (name === 'dl') {
      depth += slash === '' ? 1 : -1
      if (depth === 0) written += '\n\n'
    } else if (name === 'code') written += '`'
    else if (name === 'a') {
      const [, href = ''] = /href="([^"#][^"]*)"/.exec(token) ?? []
      const link = slash === '' ? decode(href) : (links.pop() ?? '')
      if (slash === '') links.push(link)
      if (link !== '') written += slash === '' ? '[' : `](${link.startsWith('/') ? baseUrl : ''}${link})`
    } else written += (slash === '' ? starts : ends)[name]?.(depth) ?? ''
  }
  return `${written
    .replaceAll(/ +: /g, ': ')
    .replaceAll(/: *(?=\n|$)/g, '')
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()}\n`
}

type Break = (depth: number) => string

const starts: Readonly<Record<string, Break>> = {
  h1: () => '\n\n# ',
  h2: () => '\n\n## ',
  h3: () => '\n\n### ',
  p: () => '\n\n',
  summary: () => '\n\n',
  dt: (depth) => `\n${'  '.repeat(depth - 1)}- `,
  dd: () => ': ',
}

const ends: Readonly<Record<string, Break>> = {
  h1: () => '\n\n',
  h2: () => '\n\n',
  h3: () => '\n\n',
  p: () => '\n\n',
  summary: () => '\n\n',
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

function decode(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name: string) =>
    code === undefined ? (NAMED[name] ?? whole) : String.fromCodePoint(Number(code)),
  )
}
