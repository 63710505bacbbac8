import type { JSX } from 'preact'
import type { SiteProps } from '../site-props.ts'
import { AuditList } from './audit-list.tsx'

/** Who changed what at a site. */
export function Audit({ siteId }: SiteProps): JSX.Element {
  return <AuditList siteId={siteId} path={`/api/sites/${siteId}/audit`} />
}
