import { html } from '../pages/html.ts'

/**
 * The documents name a service and a site as they are after `npm start`. The pages name those of
 * the service that shows them. They come from its settings, never from the request.
 */
export interface ExampleNames {
  readonly baseUrl: string
  readonly siteId: string
}

const SERVICE = /http:\/\/(?:127\.0\.0\.1|localhost):8787/g
const SITE = 'demo.localhost'

/** Characters for private use, which no document contains. */
const SERVICE_MARK = '\uE000'
const SITE_MARK = '\uE001'

/**
 * Commands and code that a reader runs against this service, and its responses. Others, such as the
 * configuration of a proxy, name local addresses on purpose.
 */
const LANGUAGES: ReadonlySet<string> = new Set(['sh', 'js', 'ts', 'json', 'http', 'html'])

/** Marks the names in a block of code. */
export function markExamples(text: string, language: string): string {
  return LANGUAGES.has(language) ? mark(text) : text
}

/** Marks the names within a line of a guide. In reference pages they are defaults. */
export function markInline(path: string, text: string): string {
  return /^(?:README\.md|docs\/guides\/|examples\/)/.test(path) ? mark(text) : text
}

function mark(text: string): string {
  return text.replaceAll(SERVICE, SERVICE_MARK).replaceAll(SITE, SITE_MARK)
}

/** Replaces the marks in markup. */
export function fillMarkup(markup: string, { baseUrl, siteId }: ExampleNames): string {
  return fillText(markup, { baseUrl: html`${baseUrl}`.markup, siteId: html`${siteId}`.markup })
}

/** Replaces the marks in text. */
export function fillText(text: string, { baseUrl, siteId }: ExampleNames): string {
  return text.replaceAll(SERVICE_MARK, () => baseUrl).replaceAll(SITE_MARK, () => siteId)
}

/** The names of a service with these settings. */
export function exampleNames(config: {
  readonly baseUrl: string
  readonly protectedSite: string | undefined
}): ExampleNames {
  return { baseUrl: config.baseUrl, siteId: config.protectedSite ?? SITE }
}
