import type { Webhook } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { List } from '../components/list.tsx'
import { Pill } from '../components/state.tsx'
import type { SiteProps } from '../pages.ts'
import { formatMoment } from '../time.ts'

export function Webhooks({ siteId }: SiteProps): JSX.Element {
  return (
    <List<Webhook>
      title="Webhooks"
      siteId={siteId}
      path={`/api/sites/${siteId}/webhooks`}
      toKey={({ webhook_id }) => webhook_id}
      columns={[
        { title: 'URL', cell: ({ url }) => url },
        {
          title: 'Status',
          cell: ({ status }) => <Pill tone={status === 'on' ? 'good' : 'gone'}>{status}</Pill>,
        },
        {
          title: 'Created',
          cell: ({ created_at }) => formatMoment(created_at),
          isNumber: true,
          isExtra: true,
        },
      ]}
      empty={{
        sentence: 'No webhook is told about this site.',
        command: `countersign webhooks create https://hooks.example/countersign --site ${siteId}`,
      }}
    />
  )
}
