import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { readNoScript } from '../packages/console/language-pages.ts'

/** A node of the syntax tree: its type, and members that differ from type to type. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

export interface ConsoleTexts {
  /** Every text of `say` and `sayCount` by its key: itself, or its forms. */
  readonly words: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  /** Texts outside of these calls, and calls whose text is not written in place, by file. */
  readonly bare: readonly string[]
}

export const CONSOLE = join(import.meta.dirname, '../packages/console')

/** Attributes and properties that people read. */
const READ =
  /^(?:title|label|placeholder|aria-label|alt|word|verb|busyVerb|about|hint|legend|none|data-title|passkeyLabel|sentence)$/
/** Attributes, properties and functions whose texts are for programs. */
const FOR_PROGRAMS =
  /^(?:class|key|d|viewBox|href|path|text|cli|toCli|toCommand|command|toRequest|example|keys|autocomplete|points|onClick|run|querySelector(?:All)?|closest|toCli|quote|normalize|setProperty|NumberFormat|DateTimeFormat|BroadcastChannel|request|useLoad|useChanging|toLocaleString)$/
/** Elements whose content is the same in every language. */
const LITERAL_ELEMENTS = /^(?:code|kbd|pre)$/
/** Names, keys of the keyboard and words of protocols. */
const SAME =
  /^(?:GET|POST|PATCH|PUT|DELETE|Countersign|Ctrl K|UTC|DPoP|Bearer|NFC|URL|DID|Ada|Ada Lovelace|[A-Z]|Esc|Enter|Escape|Slash|Arrow\w+|\w+Error|X-Service-Credential: .*|z6Mk…|NzbLs\w.*|countersign .*|curl .*|-H .*|https:.*|did:web:.*|\w+\.example|, Ed25519|number extra|M[\d ].*)$/s
const LETTERS = /\p{L}/u
/** Two words, a number and a word, or a word that begins with a capital letter. */
const LIKE_TEXT = /[\p{L}\d]\S* +\S*\p{L}|^\p{Lu}\p{Ll}/u

/** Reads all sources of the console. */
export function readConsoleTexts(folder: string = join(CONSOLE, 'src')): ConsoleTexts {
  const page = readNoScript(readFileSync(join(CONSOLE, 'index.html'), 'utf8'))
  const words: Record<string, string | Record<string, string>> = { [page]: page }
  const bare: string[] = []
  for (const file of globSync('**/*.{ts,tsx}', { cwd: folder }).sort()) {
    const source = readFileSync(join(folder, file), 'utf8')
    const found = readTexts(file, source)
    for (const [key, text] of Object.entries(found.words)) {
      if (key in words && typeof words[key] !== typeof text) bare.push(`${key}: with and without a number`)
      words[key] = text as string
    }
    bare.push(...found.bare.map((text) => `${file}: ${text}`))
  }
  return { words, bare }
}

/** Reads one source. */
export function readTexts(file: string, source: string): ConsoleTexts {
  const words: Record<string, string | Record<string, string>> = {}
  const bare: string[] = []
  const visit = (node: Node, above: readonly Node[]): void => {
    if (isSkipped(node)) return
    const call = node.type === 'CallExpression' ? nameIn(node.callee) : undefined
    const given = (node.arguments as Node[] | undefined) ?? []
    if (call === 'say') {
      const text = literal(given[0])
      if (text === undefined) bare.push(source.slice(node.start, node.end))
      else words[text] = text
      for (const each of given.slice(1)) visit(each, [...above, node])
      return
    }
    if (call === 'sayCount') {
      const [, one, other] = given.map(literal)
      if (one === undefined || other === undefined) bare.push(source.slice(node.start, node.end))
      else words[other] = { one, other }
      for (const each of [given[0], ...given.slice(3)]) if (each !== undefined) visit(each, [...above, node])
      return
    }
    const text = textIn(node)
    if (text !== undefined && isBare(node, text, above)) bare.push(text.trim())
    for (const child of childrenIn(node)) visit(child, [...above, node])
  }
  visit(parseSync(file, source).program as unknown as Node, [])
  return { words, bare }
}

/** Types and imports hold no text. */
function isSkipped({ type }: Node): boolean {
  return type.startsWith('Import') || (type.startsWith('TS') && !/^TS(?:As|Satisfies|NonNull)/.test(type))
}

function textIn(node: Node): string | undefined {
  if (node.type === 'JSXText') return node.value as string
  if (node.type === 'TemplateLiteral')
    return (node.quasis as { readonly value: { readonly cooked: string } }[])
      .map(({ value }) => value.cooked)
      .join('{}')
  return literal(node)
}

function literal(node: Node | undefined): string | undefined {
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined
}

function isBare(node: Node, text: string, above: readonly Node[]): boolean {
  if (!LETTERS.test(text) || SAME.test(text.trim())) return false
  const place = findPlace(node, above)
  if (place === 'same') return false
  return node.type === 'JSXText' || place === 'read' ? true : LIKE_TEXT.test(text)
}

/** Whether people read the text there (`read`), a program does (`same`), or it is not certain. */
function findPlace(node: Node, above: readonly Node[]): 'read' | 'same' | undefined {
  let child = node
  for (const parent of above.toReversed()) {
    const name = nameIn(
      parent.type === 'CallExpression' || parent.type === 'NewExpression'
        ? parent.callee
        : (parent.name ?? parent.key),
    )
    switch (parent.type) {
      case 'JSXElement':
      case 'JSXFragment':
        return LITERAL_ELEMENTS.test(nameIn((parent.openingElement as Node | undefined)?.name) ?? '')
          ? 'same'
          : 'read'
      case 'JSXAttribute':
        return READ.test(name ?? '') ? 'read' : FOR_PROGRAMS.test(name ?? '') ? 'same' : undefined
      case 'Property':
        if (parent.key === child) return 'same'
        if (FOR_PROGRAMS.test(name ?? '')) return 'same'
        if (READ.test(name ?? '')) return 'read'
        break
      case 'ConditionalExpression':
        if (parent.test === child) return 'same'
        break
      case 'BinaryExpression':
      case 'SwitchCase':
        return parent.operator === '+' || parent.test !== child ? undefined : 'same'
      case 'CallExpression':
      case 'NewExpression':
        return /^say(?:Count)?$/.test(name ?? '')
          ? 'read'
          : FOR_PROGRAMS.test(name ?? '')
            ? 'same'
            : undefined
      case 'TemplateLiteral':
      case 'LogicalExpression':
      case 'JSXExpressionContainer':
      case 'ParenthesizedExpression':
      case 'ArrayExpression':
      case 'ObjectExpression':
      case 'ArrowFunctionExpression':
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
        break
      default:
        return undefined
    }
    child = parent
  }
  return undefined
}

/** `name` of an identifier, of an attribute, and of `object.name`. */
function nameIn(node: unknown): string | undefined {
  const { type, name, property, value } = (node ?? {}) as Node
  if (type === 'MemberExpression') return nameIn(property)
  if (typeof name === 'string') return name
  return type === 'Literal' ? String(value) : undefined
}

function childrenIn(node: Node): readonly Node[] {
  return Object.values(node)
    .flat()
    .filter((each): each is Node => typeof (each as Node | null)?.type === 'string')
}

/** As languages/en.json holds it: sorted, so that a change of a page is a change of a few lines. */
export function toFile(words: ConsoleTexts['words']): string {
  const sorted = Object.entries(words).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`
}

/** What is wrong with the words of another language. One fault for each text. */
export function findFaults(
  english: ConsoleTexts['words'],
  words: ConsoleTexts['words'],
  language: string,
): readonly string[] {
  const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions()
  const unknown = Object.keys(words).filter((key) => !(key in english))
  return [
    ...unknown.map((key) => `${key}: the console does not say it`),
    ...Object.keys(english)
      .filter((key) => !(key in words))
      .map((key) => `${key}: missing`),
    ...Object.entries(words).flatMap(([key, text]) => {
      if (!(key in english)) return []
      if (typeof text !== typeof english[key]) return [`${key}: with and without a number`]
      const texts = typeof text === 'string' ? [text] : Object.values(text)
      if (texts.some((each) => each.trim() === '')) return [`${key}: empty`]
      if (typeof text === 'string') return hasValues(text, key) ? [] : [`${key}: other values`]
      const forms = Object.entries(text)
      if (
        forms
          .map(([form]) => form)
          .sort()
          .join() !== pluralCategories.toSorted().join()
      )
        return [`${key}: other forms`]
      return forms.every(([form, each]) => hasValues(each, key, EXACT.test(form)))
        ? []
        : [`${key}: other values`]
    }),
  ]
}

/** Forms for one number only, which can be a word: `two users` without `{count}`. */
const EXACT = /^(?:zero|one|two)$/

function hasValues(text: string, key: string, isExact = false): boolean {
  const list = (each: string) => (each.match(/\{\w+\}/g) ?? []).toSorted().join()
  return list(text) === list(key) || (isExact && list(text) === list(key.replace('{count}', '')))
}
