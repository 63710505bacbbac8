import { type Html, html } from '../pages/html.ts'

/**
 * What a link or picture of the text leads to: an address, or undefined when there is nothing to
 * lead to.
 */
export type LinkOf = (target: string) => string | undefined

/**
 * One pass over the text; the first of these that fits at a place counts. No pattern can begin in
 * the middle of its own repetition, so that long lines cost what they are long.
 */
const PIECE =
  /(?<code>`+)(?<inCode>[^`]+|[^`].*?[^`])\k<code>(?!`)|(?<picture>!?)\[(?<words>(?:[^[\]`]|`[^`]*`)+)\]\((?<target>[^()\s]*)\)|<(?<address>https?:\/\/[^<>\s]+)>|<a id="(?<anchor>[\w-]{1,64})"><\/a>|\*\*(?<strong>[^*\s](?:[^*]*[^*\s])?)\*\*|(?<![\w*])\*(?<emphasis>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])|\\(?<escaped>[!-/:-@[-`{-~])|&(?<entity>lt|gt|amp|quot);/gs

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }

/** Emphasis in links in emphasis: deeper than this, the rest is text. */
const DEPTH_MAX = 6

/**
 * Code, links, pictures, emphasis and `<a id="…"></a>` within a line. Everything else is text. A
 * link without a target is its words.
 */
export function inline(text: string, linkOf: LinkOf, depth = 0): Html {
  if (depth > DEPTH_MAX) return html`${text}`
  const made: Html[] = []
  let done = 0
  for (const match of text.matchAll(PIECE)) {
    made.push(html`${text.slice(done, match.index)}`, piece(match.groups ?? {}, linkOf, depth + 1))
    done = match.index + match[0].length
  }
  return html`${made}${text.slice(done)}`
}

type Groups = Readonly<Record<string, string | undefined>>

function piece(groups: Groups, linkOf: LinkOf, depth: number): Html {
  const { inCode, picture, words, target = '', address, anchor, strong, emphasis, escaped, entity } = groups
  if (inCode !== undefined) return html`<code>${codeOf(inCode)}</code>`
  if (words !== undefined)
    return picture === '!'
      ? pictureOf(words, linkOf(target))
      : linked(inline(words, linkOf, depth), linkOf(target))
  if (address !== undefined) return linked(html`${address}`, linkOf(address))
  if (anchor !== undefined) return html`<a id="${anchor}"></a>`
  if (strong !== undefined) return html`<strong>${inline(strong, linkOf, depth)}</strong>`
  if (emphasis !== undefined) return html`<em>${inline(emphasis, linkOf, depth)}</em>`
  return html`${escaped ?? ENTITIES[entity ?? ''] ?? ''}`
}

/** A line break within code is a space, and so is what keeps a backtick away from its mark. */
function codeOf(text: string): string {
  const line = text.replaceAll('\n', ' ')
  return /^ .*[^ ].* $/.test(line) ? line.slice(1, -1) : line
}

const linked = (words: Html, href: string | undefined) =>
  href === undefined ? words : html`<a href="${href}">${words}</a>`
const pictureOf = (words: string, src: string | undefined) =>
  src === undefined ? html`${words}` : html`<img src="${src}" alt="${words}">`

/** The words of a line without their marks, for titles and names. */
export function plainWords(text: string): string {
  return text.replaceAll(PIECE, (...all) => {
    const groups = all.at(-1) as Groups
    const inner = groups.words ?? groups.strong ?? groups.emphasis
    if (inner !== undefined) return plainWords(inner)
    return groups.inCode ?? groups.address ?? groups.escaped ?? ENTITIES[groups.entity ?? ''] ?? ''
  })
}
