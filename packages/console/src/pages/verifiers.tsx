import type { Verifier } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { List } from '../components/list.tsx'
import { Pill } from '../components/state.tsx'
import type { SiteProps } from '../pages.ts'
import { formatMoment } from '../time.ts'
import { showVerifier } from './verifier-states.ts'

export function Verifiers({ siteId }: SiteProps): JSX.Element {
  return (
    <List<Verifier>
      title="Verifiers"
      about="Guards that decide about requests to this site."
      siteId={siteId}
      path={`/api/sites/${siteId}/verifiers`}
      isLive
      toKey={({ verifier_id, instance_id }) => `${verifier_id} ${instance_id}`}
      columns={[
        { title: 'Verifier', cell: ({ verifier_id }) => <strong>{verifier_id}</strong> },
        {
          title: 'State',
          cell: (each) => <Pill tone={showVerifier(each).tone}>{showVerifier(each).word}</Pill>,
        },
        { title: 'Applied', cell: ({ seq }) => seq.toLocaleString('en'), isNumber: true },
        {
          title: 'Bound',
          cell: ({ max_staleness_seconds }) =>
            max_staleness_seconds === null ? '–' : `${max_staleness_seconds} s`,
          isNumber: true,
          isExtra: true,
        },
        {
          title: 'Last answer',
          cell: ({ acknowledged_at }) => (acknowledged_at === null ? '–' : formatMoment(acknowledged_at)),
          isNumber: true,
          isExtra: true,
        },
      ]}
      empty={{ sentence: 'No verifier follows this site yet.', command: 'npm start -- --with-demo-app' }}
    />
  )
}
