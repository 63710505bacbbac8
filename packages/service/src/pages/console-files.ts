import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { RouteAnswer } from '../answer.ts'
import { acceptsGzip } from '../http/send-stream.ts'
import { acceptedLanguage } from './choose-language.ts'
import { pageHeaders } from './hosted-page.ts'

/** The built files of the console. */
export interface ConsoleFiles {
  /** The page in the language of the browser, whatever the path: the console knows what to show. */
  page(acceptLanguage: string | undefined): RouteAnswer
  /** A script or style sheet. Undefined when there is no such file. */
  asset(name: string, acceptEncoding: string | undefined): RouteAnswer | undefined
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Only our own scripts may run, they may talk to this origin only, and they write no markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Reads all files once. Undefined when the console was not built. */
export function readConsoleFiles(folder: string = findFolder()): ConsoleFiles | undefined {
  const pages = readPages(folder)
  const [english] = pages
  if (english === undefined) return undefined
  const files = new Map(
    readdirSync(join(folder, 'assets')).flatMap((name) => {
      const contentType = TYPES[extname(name)]
      if (contentType === undefined) return []
      const body = readFileSync(join(folder, 'assets', name))
      return [[name, { contentType, body, gzipped: gzipSync(body, { level: 9 }) }] as const]
    }),
  )
  return {
    page(acceptLanguage) {
      const { lang, body } = acceptedLanguage(acceptLanguage, pages) ?? english
      return {
        status: 200,
        contentType: 'text/html; charset=utf-8',
        headers: {
          ...pageHeaders,
          'content-security-policy': POLICY,
          'permissions-policy': 'publickey-credentials-get=(self), publickey-credentials-create=(self)',
          'cache-control': 'no-store',
          'content-language': lang,
          vary: 'accept-language',
        },
        body,
      }
    },
    asset(name, acceptEncoding) {
      const file = files.get(name)
      if (file === undefined) return undefined
      const isGzipped = acceptsGzip(acceptEncoding)
      return {
        status: 200,
        contentType: file.contentType,
        headers: {
          // The names contain a hash of the content.
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-origin',
          vary: 'accept-encoding',
          ...(isGzipped ? { 'content-encoding': 'gzip' } : {}),
        },
        body: isGzipped ? file.gzipped : file.body,
      }
    },
  }
}

interface Page {
  readonly lang: string
  readonly body: string
}

/** `index.html` is English and comes first, `index.ar.html` is Arabic. [] when there is none. */
function readPages(folder: string): readonly Page[] {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  try {
    const others = readdirSync(folder).flatMap((name) => {
      const lang = /^index\.([\w-]+)\.html$/.exec(name)?.[1]
      return lang === undefined ? [] : [{ lang, body: read(name) }]
    })
    return [{ lang: 'en', body: read('index.html') }, ...others]
  } catch {
    return []
  }
}

function findFolder(): string {
  const require = createRequire(import.meta.url)
  return join(dirname(require.resolve('@countersign/console/package.json')), 'dist')
}
