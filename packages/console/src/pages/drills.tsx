import type { Drill, DrillSummary } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { call, newIdempotencyKey } from '../api/call.ts'
import { mayRevoke } from '../api/session.ts'
import { notice } from '../components/copy.tsx'
import { List } from '../components/list.tsx'
import { Pill } from '../components/state.tsx'
import { describe } from '../revoke/state.ts'
import { sitePath } from '../router.ts'
import { formatDuration, formatMoment } from '../time.ts'
import { Applied } from './receipts.tsx'

export function Drills({ siteId }: { readonly siteId: string }): JSX.Element {
  return (
    <List<DrillSummary>
      title="Drills"
      about="A drill revokes an id that no credential has, and reports which verifiers applied it. No user loses access."
      siteId={siteId}
      path={`/api/sites/${siteId}/drills`}
      isLive
      actions={mayRevoke(siteId) && <StartDrill siteId={siteId} />}
      toKey={({ drill_id }) => drill_id}
      toHref={({ seq }) => sitePath(siteId, 'receipts', String(seq))}
      columns={[
        { title: 'Started', cell: ({ started_at }) => formatMoment(started_at) },
        {
          title: 'Result',
          cell: ({ state }) => (
            <Pill tone={state === 'running' ? 'none' : state === 'complete' ? 'good' : 'gone'}>{state}</Pill>
          ),
        },
        {
          title: 'Applied by',
          cell: ({ acknowledged, expected }) =>
            acknowledged === null || expected === null ? (
              '–'
            ) : (
              <Applied acknowledged={acknowledged} expected={expected} state="complete" />
            ),
        },
        {
          title: 'Last after',
          cell: ({ elapsed_ms }) => (elapsed_ms === null ? '–' : formatDuration(elapsed_ms)),
          isNumber: true,
        },
      ]}
      empty={{
        sentence: 'No drill has been run at this site.',
        command: `countersign drill --site ${siteId}`,
      }}
    />
  )
}

function StartDrill({ siteId }: { readonly siteId: string }): JSX.Element {
  const [isBusy, setIsBusy] = useState(false)
  const start = async () => {
    setIsBusy(true)
    try {
      const drill = await call<Drill>(`/api/sites/${siteId}/drills`, {
        method: 'POST',
        site: siteId,
        body: {},
        idempotencyKey: newIdempotencyKey(),
      })
      notice.value = `The drill runs as entry ${drill.seq}.`
    } catch (fault) {
      notice.value = describe(fault)
    }
    setIsBusy(false)
  }
  return (
    <button type="button" class="primary" disabled={isBusy} onClick={() => void start()}>
      Run a drill now
    </button>
  )
}
