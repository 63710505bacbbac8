import { parseSiteId, type SiteId } from '@countersign/core'
import { UsageError } from '../command.ts'

/** Throws a `UsageError` for a text that is not a site id. */
export function requireSiteId(text: string): SiteId {
  const siteId = parseSiteId(text)
  if (siteId === undefined)
    throw new UsageError(
      `${JSON.stringify(text)} is not a site. Give a lower-case host name, such as shop.example.`,
    )
  return siteId
}
