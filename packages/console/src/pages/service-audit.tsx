import type { JSX } from 'preact'
import { AuditList } from './audit-list.tsx'

/** Who changed what at any site and at the service itself, for operators. */
export function ServiceAudit(): JSX.Element {
  return <AuditList siteId={undefined} path="/api/audit" />
}
