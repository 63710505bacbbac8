import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { extname, join } from 'node:path'
import type { RouteAnswer } from '../answer.ts'
import { docsStyle } from '../documents/style.ts'
import { type StoredAnswer, storeAnswer } from '../http/stored-answer.ts'
import { referenceStyle } from '../reference/reference-style.ts'
import { toAccentStyle } from './accent-style.ts'
import { languages } from './choose-language.ts'
import { hostedStyle } from './hosted-style.ts'
import { joinModules } from './join-modules.ts'
import type { Messages } from './messages.ts'
import { icon } from './seal.ts'

/** The scripts of `browser/` that pages start. */
export type PageScript = 'sign-in' | 'wallet' | 'problem'

/** What pages load: scripts, style sheets, the icon and the manifest of the wallet. */
export interface Assets {
  /** The path of `hosted.css`, for example, or of a script without texts. Throws otherwise. */
  path(name: string): string
  /** The path of the style sheet for an accent such as `#0a6448`. */
  accent(accent: string): string
  /** The path of a script with its texts in one language. */
  script(name: PageScript, lang: string): string
  /** The script that the sign-in page carries, and its source expression in a policy. */
  readonly inline: { readonly text: string; readonly source: string }
  /** The answer to a request for that path. Undefined when there is no such asset. */
  answer(path: string, acceptEncoding: string): RouteAnswer | undefined
}

interface Asset {
  readonly type: string
  readonly text: string
}

const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
/** Scripts without texts. */
const PLAIN_SCRIPTS = ['docs'] as const

/** Scripts are JavaScript when this package is built, and TypeScript when it runs from source. */
const EXTENSION = extname(import.meta.filename)
const FOLDER = join(import.meta.dirname, '..', 'browser')

let read: Assets | undefined

/**
 * All assets, read once. The name of their folder is a hash of their contents, so they can be
 * cached permanently.
 */
export function assets(): Assets {
  read ??= readAssets()
  return read
}

function readAssets(): Assets {
  const files: readonly (readonly [name: string, Asset])[] = [
    ...(['sign-in', 'wallet', 'problem'] as const).flatMap((name) => {
      const code = joinScript(name)
      return languages.map(
        (messages) =>
          [
            `${name}.${messages.lang}.js`,
            {
              type: SCRIPT_TYPE,
              text: `const PAGE_MESSAGES = ${JSON.stringify(selectMessages(messages, name))}\n${code}`,
            },
          ] as const,
      )
    }),
    ...PLAIN_SCRIPTS.map((name) => [`${name}.js`, { type: SCRIPT_TYPE, text: joinScript(name) }] as const),
    ['hosted.css', { type: 'text/css; charset=utf-8', text: hostedStyle }],
    ['docs.css', { type: 'text/css; charset=utf-8', text: docsStyle + referenceStyle }],
    // Hides the parts that need a script where none runs.
    ['no-script.css', { type: 'text/css; charset=utf-8', text: '.scripted { display: none !important; }\n' }],
    ['icon.svg', { type: 'image/svg+xml', text: icon }],
    ['wallet.webmanifest', { type: 'application/manifest+json', text: JSON.stringify(MANIFEST) }],
  ]
  const inlineText = `{\n${joinScript('early-statuses')}}\n`
  const folder = hash('sha256', JSON.stringify([files, toAccentStyle('777777')])).slice(0, 16)
  const found = new Map(
    files.map(([name, { type, text }]) => [
      `/assets/${folder}/${name}`,
      storeAnswer({ status: 200, contentType: type, headers: HEADERS, body: text }),
    ]),
  )
  const toPath = (name: string) => {
    const path = `/assets/${folder}/${name}`
    if (!found.has(path)) throw new Error(`there is no asset ${name}`)
    return path
  }
  return {
    path: (name) => toPath(extname(name) === '' ? `${name}.js` : name),
    accent: (accent) => `/assets/${folder}/accent-${accent.slice(1)}.css`,
    script: (name, lang) => toPath(`${name}.${lang}.js`),
    // CSP 3 §2.3.1: the hash allows this text and no other.
    inline: { text: inlineText, source: `'sha256-${hash('sha256', inlineText, 'base64')}'` },
    answer: (path, acceptEncoding) =>
      (found.get(path) ?? findAccent(folder, path))?.answer((name) =>
        name === 'accept-encoding' ? [acceptEncoding] : undefined,
      ),
  }
}

/** The style sheet of any accent, made from its path: there is nothing to look up. */
function findAccent(folder: string, path: string): StoredAnswer | undefined {
  const [start = '', hex = ''] = path.split('/accent-')
  const text =
    start === `/assets/${folder}` && hex.endsWith('.css') ? toAccentStyle(hex.slice(0, -4)) : undefined
  if (text === undefined) return undefined
  return storeAnswer({ status: 200, contentType: 'text/css; charset=utf-8', headers: HEADERS, body: text })
}

const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

/** Makes the wallet installable, so that people find it again. */
const MANIFEST = {
  id: '/wallet',
  name: 'Countersign wallet',
  short_name: 'Wallet',
  start_url: '/wallet',
  scope: '/wallet',
  display: 'standalone',
  background_color: '#f6f8f6',
  theme_color: '#0a6448',
  icons: [{ src: 'icon.svg', sizes: 'any', type: 'image/svg+xml' }],
}

/** The texts that a script uses. */
function selectMessages(messages: Messages, name: PageScript): object {
  const { lang, common, verbs, nouns, problems } = messages
  if (name === 'problem') return { lang, common: { copied: common.copied } }
  return {
    lang,
    common,
    verbs,
    nouns,
    problems,
    page: name === 'wallet' ? messages.wallet : messages.signIn,
  }
}

/** A script of `browser/` with all that it imports. */
function joinScript(name: string): string {
  return joinModules(name + EXTENSION, (file) => scriptText(readFileSync(join(FOLDER, file), 'utf8')))
}

/** Strips types without Node's warning that this is experimental, which operators need not see. */
function scriptText(source: string): string {
  if (EXTENSION !== '.ts') return source
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    // Not a named import: older versions of Node do not have it, and a build never calls it.
    return nodeModule.stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
