import type { Token, Tokens } from 'marked'

/** The text of parsed Markdown, as a reader sees it. */
export function plainText(tokens: readonly Token[]): string {
  return tokens.map(tokenText).join('')
}

function tokenText(token: Token): string {
  switch (token.type) {
    case 'html':
    case 'image':
      return ''
    case 'code':
    case 'codespan':
      return `${token.text}`
    case 'br':
    case 'space':
      return ' '
    case 'list':
      return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ')
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return [header, ...rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(' ')).join(' ')
    }
    default:
      if ('tokens' in token && token.tokens !== undefined) return plainText(token.tokens)
      return 'text' in token ? unescapeText(String(token.text)) : ''
  }
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }

function unescapeText(text: string): string {
  return text.replaceAll(/&(lt|gt|amp|quot);/g, (_, name: string) => ENTITIES[name] ?? '')
}

/** Escapes everything but character references. */
export function escapeText(text: string): string {
  return text.replaceAll(
    /[<>"']|&(?!(?:#\d+|#x[\da-f]+|[a-z]+);)/gi,
    (character) => `&#${character.charCodeAt(0)};`,
  )
}
