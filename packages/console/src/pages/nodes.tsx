import type { Node } from '@countersign/core/contract'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { toCli } from '../api/command.ts'
import { Id } from '../components/id.tsx'
import { List } from '../components/list.tsx'
import { Pill, type Tone } from '../components/state.tsx'
import { isPaused } from '../live.ts'
import { formatCount, say } from '../say.ts'
import { formatDuration, formatMoment } from '../time.ts'

const STATES: Readonly<Record<Node['state'], readonly [tone: Tone, word: string]>> = {
  ready: ['good', say('Ready')],
  not_ready: ['bad', say('Not ready')],
  silent: ['silent', say('Silent')],
}

const REPORT_MS = 10_000
/** From here on, the clocks differ by more than requests that are signed can bear well. */
const CLOCK_MS = 1000

/** The processes of this service, as each of them reports itself. */
export function Nodes(): JSX.Element {
  const [beat, setBeat] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!isPaused.value && document.visibilityState === 'visible') setBeat((last) => last + 1)
    }, REPORT_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <List<Node>
      title={say('Nodes')}
      about={say('Each node reports every 10 seconds. The state of a silent node is not known.')}
      siteId="all"
      path="/api/service/nodes"
      version={beat}
      toCli={() => toCli(['nodes'])}
      toKey={({ node_id }) => node_id}
      columns={[
        {
          title: say('Node'),
          cell: ({ node_id, version }) => (
            <span class="two-lines">
              <Id value={node_id} copy />
              <span class="meta">{say('version {version}', { version })}</span>
            </span>
          ),
        },
        {
          title: say('State'),
          cell: ({ state }) => {
            const [tone, word] = STATES[state]
            return <Pill tone={tone}>{word}</Pill>
          },
        },
        {
          title: say('View age'),
          cell: ({ view_age_ms: ms }) => (ms === null ? 'none' : formatDuration(ms)),
          isNumber: true,
        },
        {
          title: say('Position'),
          cell: ({ position }) => formatCount(position),
          isNumber: true,
          isExtra: true,
        },
        {
          title: say('Streams'),
          cell: ({ streams }) => formatCount(streams),
          isNumber: true,
          isExtra: true,
        },
        {
          title: say('Clock offset'),
          cell: ({ clock_difference_ms: ms }) =>
            Math.abs(ms) >= CLOCK_MS ? <Pill tone="late">{toDifference(ms)}</Pill> : toDifference(ms),
          isNumber: true,
          isExtra: true,
        },
        {
          title: say('Started'),
          cell: ({ started_at }) => formatMoment(started_at),
          isNumber: true,
          isWide: true,
        },
        {
          title: say('Reported'),
          cell: ({ reported_at }) => formatMoment(reported_at),
          isNumber: true,
          isExtra: true,
        },
      ]}
      empty={{ sentence: say('No node has reported yet.'), command: toCli(['nodes']) }}
    />
  )
}

function toDifference(ms: number): string {
  return ms === 0 ? formatDuration(0) : `${ms > 0 ? '+' : '−'}${formatDuration(Math.abs(ms))}`
}
