import { readFileSync, statSync } from 'node:fs'
import { extname, join, posix } from 'node:path'
import type { Html } from '../pages/html.ts'
import { listDocumentFiles } from './document-files.ts'
import { markExamples, markInline } from './examples.ts'
import { type Heading, type Picture, type Rendered, renderMarkdown, type Targets } from './markdown.ts'
import { measurePicture } from './picture-size.ts'
import { createEntries, type SearchEntry } from './search-index.ts'

/** One document. */
export interface Document {
  /** In the repository. */
  readonly path: string
  /** The address at which it is served. */
  readonly url: string
  readonly title: string
  /** Its first sentence, as text. */
  readonly description: string
  readonly headings: readonly Heading[]
  /** With marks where the examples name the service; see `fillMarkup`. */
  readonly content: Html
  /** As Markdown whose links lead to what is served, with the same marks. */
  readonly markdown: string
  /** What the search finds. */
  readonly entries: readonly SearchEntry[]
}

/** What is served under /docs. */
export interface Documents {
  /** All pages, in the order of their paths. */
  readonly pages: readonly Document[]
  /** By address. Addresses are only looked up, never turned into a path of a file. */
  page(url: string): Document | undefined
  /** A picture, by address. */
  picture(url: string): PictureFile | undefined
}

interface PictureFile {
  readonly contentType: string
  readonly body: Buffer
}

const PICTURE_TYPES: Readonly<Record<string, string>> = { '.svg': 'image/svg+xml', '.png': 'image/png' }

/** The list of decisions, which is generated. */
export const DECISIONS_URL = '/docs/decisions'

/** Larger files are skipped: they cannot be documents written by hand. */
const BYTES_MAX = 1024 * 1024

/** From source, the root of the repository; built, the copy that the build made. */
const FOLDER =
  extname(import.meta.filename) === '.ts'
    ? join(import.meta.dirname, '../../../..')
    : join(import.meta.dirname, '..', 'documents-of-repository')

let kept: Documents | undefined

/** The documents that came with this service, read once, when the first is requested. */
export function documents(): Documents {
  kept ??= readDocuments(FOLDER)
  return kept
}

/** Reads all documents below a folder. A missing folder has none. */
export function readDocuments(folder: string): Documents {
  const files = listDocumentFiles(folder).filter((path) => statSync(join(folder, path)).size <= BYTES_MAX)
  const urls = new Map([
    ...files.map((path) => [path, toUrl(path)] as const),
    ['docs/decisions', DECISIONS_URL],
  ])
  const pictures = new Map(
    files.flatMap((path) => {
      const contentType = PICTURE_TYPES[extname(path)]
      return contentType === undefined
        ? []
        : [[toUrl(path), { contentType, body: readFileSync(join(folder, path)) }] as const]
    }),
  )
  const findPicture = (path: string, target: string): Picture | undefined => {
    const url = findLink(path, target, urls)
    const file = url === undefined ? undefined : pictures.get(url)
    return url === undefined || file === undefined ? undefined : { url, ...measurePicture(file.body) }
  }
  const readPage = (path: string): Document => {
    const link = (target: string) => findLink(path, target, urls)
    return new RepositoryDocument(path, readFileSync(join(folder, path), 'utf8'), {
      link,
      picture: (target) => findPicture(path, target),
      code: markExamples,
      codespan: (code) => markInline(path, code),
    })
  }
  const pages = files.filter((path) => path.endsWith('.md')).map(readPage)
  const byUrl = new Map(pages.map((page) => [page.url, page]))
  return { pages, page: (url) => byUrl.get(url), picture: (url) => pictures.get(url) }
}

/**
 * Rendered when it is needed for the first time, title and description without the rest: all
 * documents together would stop a node for almost a second.
 */
class RepositoryDocument implements Document {
  readonly path: string
  readonly url: string
  readonly #text: string
  readonly #targets: Targets
  #title: string | undefined
  #description: string | undefined
  #rendered: Rendered | undefined

  constructor(path: string, text: string, targets: Targets) {
    this.path = path
    this.url = toUrl(path)
    this.#text = text
    this.#targets = targets
  }

  get title(): string {
    const [line = ''] = /^# .*/m.exec(this.#text) ?? []
    this.#title ??= renderMarkdown(line, this.#targets).headings[0]?.text ?? this.path
    return this.#title
  }

  get description(): string {
    const [introduction = ''] = this.#text.split(/^## /m, 1)
    this.#description ??=
      renderMarkdown(introduction, this.#targets).description || this.#render().description
    return this.#description
  }

  get headings(): readonly Heading[] {
    return this.#render().headings
  }

  get content(): Html {
    return this.#render().content
  }

  get markdown(): string {
    return toServedMarkdown(this.path, this.#text, this.#targets.link)
  }

  get entries(): readonly SearchEntry[] {
    const { tokens, headings } = this.#render()
    return createEntries(this.url, this.title, tokens, headings)
  }

  #render(): Rendered {
    this.#rendered ??= renderMarkdown(this.#text, this.#targets)
    return this.#rendered
  }
}

/**
 * docs/guides/core.md is /docs/guides/core, examples/README.md is /docs/examples, SECURITY.md is
 * /docs/security.
 */
function toUrl(path: string): string {
  const short = path
    .replace(/^docs\//, '')
    .replace(/\/README\.md$/, '')
    .replace(/\.md$/, '')
  return `/docs/${path.includes('/') ? short : short.toLowerCase()}`
}

/** The address that a link leads to. Undefined when it names a file that is not served. */
function findLink(path: string, target: string, urls: ReadonlyMap<string, string>): string | undefined {
  if (/^https?:\/\/[^\s]+$/.test(target)) return target
  const [, file = '', fragment = ''] = /^([^#]*)(#.*)?$/.exec(target) ?? []
  if (file === '') return fragment === '' ? undefined : fragment
  const found = urls.get(posix.join(posix.dirname(path), file).replace(/\/$/, ''))
  return found === undefined ? undefined : found + fragment
}

/** Markdown for programs that read: comments left out, links as served, examples marked. */
function toServedMarkdown(path: string, text: string, link: (target: string) => string | undefined): string {
  return text
    .replaceAll(/^<!--[\s\S]*?-->\n*/gm, '')
    .replaceAll(/^```(\w+)[^\n]*\n[\s\S]*?^```$/gm, (block, language: string) =>
      markExamples(block, language),
    )
    .replaceAll(/(?<!`)`[^`\n]+`(?!`)/g, (code) => markInline(path, code))
    .replaceAll(/\]\(([^)\s]+)\)/g, (whole, target: string) => {
      const url = link(target)
      return url === undefined ? whole : `](${url})`
    })
}
