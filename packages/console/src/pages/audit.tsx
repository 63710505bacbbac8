import type { AuditRow } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import type { SiteProps } from '../pages.ts'
import { formatMoment } from '../time.ts'

export function Audit({ siteId }: SiteProps): JSX.Element {
  return (
    <List<AuditRow>
      title="Audit"
      about="Who changed what, and why. Rows cannot be deleted here."
      siteId={siteId}
      path={`/api/sites/${siteId}/audit`}
      toKey={({ audit_id }) => audit_id}
      columns={[
        { title: 'Time', cell: ({ at }) => formatMoment(at), isNumber: true },
        { title: 'Action', cell: ({ action }) => <code>{action}</code> },
        { title: 'Target', cell: ({ target }) => (target === null ? '–' : <Id value={target} />) },
        { title: 'By', cell: ({ actor }) => actor.id ?? actor.type, isExtra: true },
        { title: 'Reason', cell: ({ reason }) => reason ?? '–', isExtra: true },
      ]}
      empty={{ sentence: 'Nothing has been changed yet.', command: `countersign audit --site ${siteId}` }}
    />
  )
}
