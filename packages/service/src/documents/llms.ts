import { areas, toEndpointUrl } from '../reference/areas.ts'
import { documents } from './documents.ts'
import { type ExampleNames, fillText } from './examples.ts'
import { sections } from './reading-order.ts'

/** /llms.txt: what is here, with links to the Markdown of each page (llmstxt.org). */
export function writeLlms({ baseUrl }: ExampleNames): string {
  const byPath = new Map(documents().pages.map((page) => [page.path, page]))
  const lists = sections.map(({ name, pages }) => {
    const links = pages.flatMap(({ path, title }) => {
      const page = byPath.get(path)
      return page === undefined
        ? []
        : [`- [${title ?? page.title}](${baseUrl}${page.url}.md): ${page.description}`]
    })
    return `## ${name}\n\n${links.join('\n')}\n`
  })
  const endpoints = areas.map(({ title, endpoints: own }) => {
    const links = own.map(
      ({ id, method, path, summary }) =>
        `- [${summary}](${baseUrl}${toEndpointUrl(id)}.md): ${method} ${path}`,
    )
    return `## API: ${title}\n\n${links.join('\n')}\n`
  })
  return `# Countersign

> Countersign issues credentials, checks them inside your own process, and revokes them everywhere in milliseconds.

Every page of the documentation is also available as Markdown: add \`.md\` to its address.
All guides in one file: ${baseUrl}/llms-full.txt
The interface as OpenAPI: ${baseUrl}/openapi.json

${[...lists, ...endpoints].join('\n')}`
}

const FULL_BYTES_MAX = 512 * 1024
/** Lists that are long and easy to look up. */
const LEFT_OUT: ReadonlySet<string> = new Set(['docs/cli.md', 'docs/attacks.md', 'CHANGELOG.md'])

/** /llms-full.txt: all guides in one file of at most 512 KB; whole pages only. */
export function writeLlmsFull(names: ExampleNames): string {
  const byPath = new Map(documents().pages.map((page) => [page.path, page]))
  let whole = ''
  for (const { path } of sections.flatMap(({ pages }) => pages)) {
    const page = byPath.get(path)
    if (page === undefined || LEFT_OUT.has(path)) continue
    const text = `Source: ${names.baseUrl}${page.url}\n\n${fillText(page.markdown, names).trim()}\n\n---\n\n`
    if (Buffer.byteLength(whole) + Buffer.byteLength(text) > FULL_BYTES_MAX) continue
    whole += text
  }
  return whole
}
