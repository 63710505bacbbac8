import type { KnownCredential } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Status } from '../components/status.tsx'
import type { SiteProps } from '../pages.ts'
import { sitePath } from '../router.ts'
import { formatMoment } from '../time.ts'

export function Credentials({ siteId }: SiteProps): JSX.Element {
  return (
    <List<KnownCredential>
      title="Credentials"
      about="Credentials that this service has issued or seen. Others may exist, and can be revoked too."
      siteId={siteId}
      path={`/api/sites/${siteId}/credentials`}
      isLive
      filters={[
        {
          name: 'status',
          label: 'Status',
          values: [
            ['', 'All'],
            ['active', 'Active'],
            ['revoked', 'Revoked'],
            ['expired', 'Expired'],
          ],
        },
      ]}
      toKey={({ credential_id }) => credential_id}
      toHref={({ credential_id }) => sitePath(siteId, 'credentials', credential_id)}
      columns={[
        { title: 'Credential', cell: ({ credential_id }) => <Id value={credential_id} /> },
        { title: 'Status', cell: ({ status }) => <Status status={status} /> },
        { title: 'User', cell: ({ ppid }) => <Id value={ppid} />, isExtra: true },
        { title: 'Scope', cell: ({ scope }) => scope.join(', '), isExtra: true },
        { title: 'Until', cell: ({ expires_at }) => formatMoment(expires_at), isNumber: true },
      ]}
      empty={{
        sentence: 'No credential with this status is known here.',
        command: `countersign issue --site ${siteId}`,
      }}
    />
  )
}
