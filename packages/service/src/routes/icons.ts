import type { RouteAnswer } from '../answer.ts'
import { documents } from '../documents/documents.ts'
import { ICON_SVG } from '../front/icon.ts'
import { Problem } from '../problem.ts'

const HEADERS = {
  'cache-control': 'public, max-age=86400',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

/** GET /favicon.svg */
export const iconSvg = (): RouteAnswer => ({
  status: 200,
  contentType: 'image/svg+xml',
  headers: HEADERS,
  body: ICON_SVG,
})

/** GET /favicon.ico and /apple-touch-icon.png, which browsers ask for without being sent there. */
export const iconPng = (size: 32 | 180) => (): RouteAnswer => {
  const picture = documents().picture(`/docs/pictures/icon-${size}.png`)
  if (picture === undefined) throw new Problem('not_found')
  return { status: 200, headers: HEADERS, ...picture }
}
