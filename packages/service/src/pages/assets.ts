import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { extname, join } from 'node:path'
import type { RouteAnswer } from '../answer.ts'
import { docsStyle } from '../documents/style.ts'
import { storeAnswer } from '../http/stored-answer.ts'
import { hostedStyle } from './hosted-style.ts'

/** What pages load: scripts and style sheets. */
export interface Assets {
  /** The path of a script of `browser/`, or of the style sheet. Throws for anything else. */
  path(name: string): string
  /** The answer to a request for that path. Undefined when there is no such asset. */
  answer(path: string, acceptEncoding: string): RouteAnswer | undefined
}

/** Scripts are JavaScript when this package is built, and TypeScript when it runs from source. */
const EXTENSION = extname(import.meta.filename)
const FOLDER = join(import.meta.dirname, '..', 'browser')

let read: Assets | undefined

/**
 * All assets, read once. The name of their folder is a hash of their contents, so they can be
 * cached permanently. Scripts import each other by relative paths.
 */
export function assets(): Assets {
  read ??= readAssets()
  return read
}

function readAssets(): Assets {
  const scripts = readdirSync(FOLDER)
    .filter((name) => name.endsWith(EXTENSION) && !name.endsWith('.d.ts'))
    .sort()
    .map((name) => ({
      name,
      type: 'text/javascript; charset=utf-8',
      text: scriptText(readFileSync(join(FOLDER, name), 'utf8')),
    }))
  const styles = [
    { name: 'hosted.css', text: hostedStyle },
    { name: 'docs.css', text: docsStyle },
    // Hides the parts that need a script where none runs.
    { name: 'no-script.css', text: '.scripted { display: none; }\n' },
  ]
  const all = [...scripts, ...styles.map((style) => ({ ...style, type: 'text/css; charset=utf-8' }))]
  const folder = hash('sha256', JSON.stringify(all)).slice(0, 16)
  const found = new Map(
    all.map(({ name, type, text }) => [
      `/assets/${folder}/${name}`,
      storeAnswer({ status: 200, contentType: type, headers: HEADERS, body: text }),
    ]),
  )
  return {
    path(name) {
      const path = `/assets/${folder}/${extname(name) === '' ? name + EXTENSION : name}`
      if (!found.has(path)) throw new Error(`there is no asset ${name}`)
      return path
    },
    answer: (path, acceptEncoding) =>
      found.get(path)?.answer((name) => (name === 'accept-encoding' ? [acceptEncoding] : undefined)),
  }
}

const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
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
