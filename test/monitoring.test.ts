import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SiteId } from '@countersign/core'
import { endpointList, problemCodes } from '@countersign/core/contract'
import { describe, expect, test } from 'vitest'
import { createMeters } from '../packages/service/src/meters.ts'
import { freePort } from '../packages/service/test/store/postgres-server.ts'
import { startDevProcess } from '../scripts/dev-process.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8')

/** Every metric that a node has, with the labels of each. */
async function metricsOfANode(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const meters = createMeters()
  meters.watchView(() => ({ ageMs: 0, position: 0, audited: 1 }))
  meters.watchFeeds(() => ({ streams: 0, lag: 0, silent: 0 }))
  meters.watchAlarms(() => ({
    isWritable: true,
    isRolledBack: false,
    isHeadFileFailing: false,
    isAuditArchiveFailing: false,
    clockDifferenceMs: 0,
  }))
  meters.cursorAhead()
  meters.snapshot('opened')
  meters.watchWebhooks(async () => ({ pending: 0, failed: 0, disabled: 0, oldestPendingSeconds: 0 }))
  meters.request('ready', 200, 0.001)
  meters.problem('ready', 'overloaded')
  meters.verdict('shop.example' as SiteId, 'bearer', 'allowed')
  meters.streamEnded('slow')
  meters.webhookAttempt('delivered')
  meters.rowForged('tokens')
  meters.rowsRemoved('tokens', 1)
  meters.auditRowsArchived(1)
  meters.issuerRefresh('held_back')
  meters.watchIssuerKeys(() => 0)
  meters.signal('backchannel_logout', 'signed_out')
  const found = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of (await meters.text()).matchAll(
    /^(countersign_\w+)(?:\{(.*)\})? /gm,
  )) {
    const known = found.get(name) ?? found.set(name, new Set()).get(name)
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known?.add(label)
  }
  return found
}

test('every metric of a node is known here', async () => {
  const text = await createMeters().text()
  const names = [...text.matchAll(/^# TYPE (countersign_\w+) counter$/gm)].map(([, name = '']) => name)
  expect(names).toContain('countersign_requests_total')
  expect([...(await metricsOfANode()).keys()]).toEqual(expect.arrayContaining(names))
})

/** Put there by Prometheus, or by the node exporter. */
const OF_OTHERS = ['up', 'node_filesystem_avail_bytes', 'node_filesystem_size_bytes']
const ADDED_LABELS = ['instance', 'job', 'mountpoint']
const VALUES: Readonly<Record<string, readonly string[]>> = {
  endpoint: endpointList.map(({ id }) => id),
  code: problemCodes,
  presented: ['credential', 'bearer'],
  outcome: ['delivered', 'again', 'failed', 'unmapped', 'held_back'],
  reason: ['gone', 'slow', 'key', 'stale', 'log', 'shutdown'],
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[]
}
const dashboard = JSON.parse(read('deploy/grafana-dashboard.json')) as {
  title: string
  schemaVersion: number
  panels: readonly Panel[]
}
const alerts = read('deploy/alerts.yaml')
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({ name: text.split('\n')[0] ?? '', text, expr: / expr: (.+)/.exec(text)?.[1] ?? '' }))
const expressions = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...alerts.map(({ expr }) => expr),
]

test.each(expressions)('%s names metrics, labels and values that are there', async (expr) => {
  const metrics = await metricsOfANode()
  const named = [...expr.matchAll(/\b(up|countersign_\w+|node_\w+)(?:\{([^}]*)\})?/g)]
  expect(named.length).toBeGreaterThan(0)
  for (const [, name = '', selector = ''] of named) {
    expect([...metrics.keys(), ...OF_OTHERS]).toContain(name)
    for (const [, label = '', value = ''] of selector.matchAll(/(\w+)=~?"([^"]*)"/g)) {
      expect([...(metrics.get(name) ?? []), ...ADDED_LABELS], name).toContain(label)
      if (!value.startsWith('$') && label in VALUES)
        for (const one of value.split('|')) expect(VALUES[label]).toContain(one)
    }
    for (const [, labels = ''] of expr.matchAll(/\bby \(([^)]+)\)/g))
      for (const label of labels.split(', '))
        expect([...[...metrics.values()].flatMap((each) => [...each]), ...ADDED_LABELS]).toContain(label)
  }
  // As many brackets closed as opened.
  for (const [open, close] of ['()', '{}', '[]'])
    expect(expr.split(String(open)).length).toBe(expr.split(String(close)).length)
})

describe('the dashboard', () => {
  test('shows every metric', async () => {
    const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n')
    for (const name of (await metricsOfANode()).keys())
      expect(shown).toContain(name.replace(/_(?:sum|count)$/, '_bucket'))
  })

  test('has panels that do not lie upon each other', () => {
    const taken = new Set<string>()
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken, title).not.toContain(`${x} ${y}`)
          taken.add(`${x} ${y}`)
        }
    }
  })
})

describe('the alerts', () => {
  test('say how bad it is and what has happened', () => {
    expect(new Set(alerts.map(({ name }) => name)).size).toBe(alerts.length)
    for (const { text } of alerts) {
      expect(text).toMatch(/^ {8}labels: \{ severity: (?:critical|warning) \}$/m)
      expect(text).toMatch(/^ {10}summary: '[^']+'$/m)
    }
  })

  test('are explained in the guide, and no others', () => {
    const named = [...read('docs/guides/monitoring.md').matchAll(/`(Countersign[A-Z]\w+)`/g)].map(
      ([, name]) => String(name),
    )
    expect(named.sort()).toEqual(alerts.map(({ name }) => name).sort())
  })
})

test('the guide names every metric', async () => {
  const guide = read('docs/guides/monitoring.md')
  for (const name of (await metricsOfANode()).keys())
    expect(guide).toContain(name.replace(/_(?:bucket|sum|count)$/, ''))
})

const hasCurl = spawnSync('curl', ['--version']).status === 0
if (!hasCurl)
  console.warn('\nSKIPPED: the command of the guide is not tested here, for curl is not installed.\n')

test.skipIf(!hasCurl)('the command of the guide shows what it says', { tags: 'long' }, async () => {
  const guide = read('docs/guides/monitoring.md')
  const block = (kind: string) => new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\`$`, 'ms').exec(guide)?.[1] ?? ''
  const port = await freePort()
  const dev = [
    '--conditions=countersign-source',
    'packages/cli/src/main.ts',
    'dev',
    '--admin-port',
    String(port),
  ]
  const service = await startDevProcess({ command: [process.execPath, ...dev] })
  try {
    const printed = execFileSync('sh', ['-c', block('sh metrics').replace('8788', String(port))], {
      encoding: 'utf8',
    })
    const names = (text: string) => text.match(/^\w+(?= )/gm)?.sort()
    expect(names(printed)).toEqual(names(block('text metrics')))
    expect(printed).toMatch(/^countersign_log_position [1-9]/m)
  } finally {
    await service.stop()
  }
})
