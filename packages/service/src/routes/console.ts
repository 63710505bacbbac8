import type { RouteAnswer } from '../answer.ts'
import { toAccentStyle } from '../pages/accent-style.ts'
import { readConsoleFiles } from '../pages/console-files.ts'
import { Problem } from '../problem.ts'
import type { PageRequest } from '../route.ts'

const NOT_BUILT = 'This service was installed without the pages of the console.'

const HEADERS = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' }

let files: ReturnType<typeof readConsoleFiles>

/** GET /console/…: the page of the console. */
export function consolePage({ lines }: PageRequest): RouteAnswer {
  return requireFiles().page(lines('accept-language')?.join(','))
}

/**
 * GET /console/assets/…: its scripts and style sheets, and the shades that hosted pages derive from
 * an accent, for a preview of them.
 */
export function consoleAsset({ path, lines }: PageRequest): RouteAnswer {
  const name = path.slice('/console/assets/'.length)
  const accent = /^accent-([0-9a-f]{6})\.css$/.exec(name)?.[1]
  const style = accent && toAccentStyle(accent)
  if (style) return { status: 200, contentType: 'text/css; charset=utf-8', headers: HEADERS, body: style }
  const found = requireFiles().asset(name, lines('accept-encoding')?.join(','))
  if (found === undefined) throw new Problem('not_found')
  return found
}

function requireFiles(): NonNullable<typeof files> {
  files ??= readConsoleFiles()
  if (files === undefined) throw new Problem('not_found', NOT_BUILT)
  return files
}
