/** Every page of a site gets its id. */
export interface SiteProps {
  readonly siteId: string
}
