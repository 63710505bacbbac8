import { hash } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import type { Fetcher } from '../net/fetch-bytes.ts'
import type { FetchedLogo } from '../store/operations/shared/brand-rows.ts'
import { type Picture, readPicture } from './read-picture.ts'

/** Fetches logos from other hosts. Never called when a page is shown. */
export interface LogoFetcher {
  /** `fault` is a message for the administrator of the site, `cause` is for the log. */
  fetch(
    url: URL,
    forSite: string,
  ): Promise<FetchedLogo | { readonly fault: string; readonly cause?: unknown }>
}

const SIDE_MAX = limits.logo_side_pixels_max

/** See `createFetcher` for the limits of a fetch. The Content-Type of the host is ignored. */
export function createLogoFetcher(fetcher: Fetcher): LogoFetcher {
  return {
    async fetch(url, forSite) {
      const accept = 'image/webp, image/png, image/jpeg'
      const fetched = await fetcher.fetch(url, { what: 'logo', accept, forSite })
      if ('fault' in fetched) return fetched
      const { bytes } = fetched
      const picture = readPicture(bytes)
      if (picture === undefined) return { fault: 'the logo is not a PNG, WebP or JPEG' }
      const fault = findFault(picture)
      if (fault !== undefined) return { fault }
      return { url: url.href, sha256: hash('sha256', bytes), type: picture.type, bytes }
    },
  }
}

function findFault({ width, height, isAnimated }: Picture): string | undefined {
  if (isAnimated) return 'the logo is animated'
  if (width > SIDE_MAX || height > SIDE_MAX)
    return `the logo has ${width} × ${height} pixels, and may have ${SIDE_MAX} on each side`
  return undefined
}
