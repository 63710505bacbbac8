import type { ApiKey } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { List } from '../components/list.tsx'
import type { SiteProps } from '../pages.ts'
import { formatMoment } from '../time.ts'

export function ApiKeys({ siteId }: SiteProps): JSX.Element {
  return (
    <List<ApiKey>
      title="API keys"
      siteId={siteId}
      path={`/api/sites/${siteId}/keys`}
      toKey={({ key_id }) => key_id}
      columns={[
        {
          title: 'Key',
          cell: ({ label, last4 }) => (
            <span>
              {label ?? 'Without a label'} <span class="meta">…{last4}</span>
            </span>
          ),
        },
        { title: 'May', cell: ({ permissions }) => permissions.join(', '), isExtra: true },
        { title: 'Created', cell: ({ created_at }) => formatMoment(created_at), isNumber: true },
        {
          title: 'Until',
          cell: ({ expires_at }) => (expires_at === null ? 'deleted' : formatMoment(expires_at)),
          isNumber: true,
          isExtra: true,
        },
      ]}
      empty={{
        sentence: 'This site has no API key.',
        command: `countersign keys create --site ${siteId} --permission site:read`,
      }}
    />
  )
}
