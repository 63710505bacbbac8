import type { SiteId } from '@countersign/core'
import { describe, expect, test } from 'vitest'
import { createMeters } from '../src/meters.ts'

const lines = async (meters: ReturnType<typeof createMeters>) =>
  (await meters.text()).split('\n').filter((line) => line.startsWith('countersign_webhook'))

describe('meters of webhooks', () => {
  test('show what waits and what has failed, each time metrics are read', async () => {
    const meters = createMeters()
    let pending = 2
    meters.watchWebhooks(async () => ({ pending, failed: 1, disabled: 3, oldestPendingSeconds: 4.5 }))
    meters.webhookAttempt('delivered')
    meters.webhookAttempt('delivered')
    meters.webhookAttempt('again')
    expect(await lines(meters)).toEqual([
      'countersign_webhook_attempts_total{outcome="delivered"} 2',
      'countersign_webhook_attempts_total{outcome="again"} 1',
      'countersign_webhook_deliveries{status="pending"} 2',
      'countersign_webhook_deliveries{status="failed"} 1',
      'countersign_webhook_oldest_pending_seconds 4.5',
      'countersign_webhooks_disabled 3',
    ])
    pending = 0
    expect(await lines(meters)).toContain('countersign_webhook_deliveries{status="pending"} 0')
  })

  test('do not hide the others when the store does not answer', async () => {
    const meters = createMeters()
    meters.watchWebhooks(() => Promise.reject(new Error('down')))
    meters.request('alive', 200, 0.001)
    expect(await meters.text()).toContain('countersign_requests_total{endpoint="alive",status="200"} 1')
    expect(await lines(meters)).toContain('countersign_webhook_deliveries{status="pending"} Nan')
  })
})

describe('meters of requests', () => {
  test('count by endpoint and status, and durations in buckets', async () => {
    const meters = createMeters()
    for (const [status, seconds] of [
      [200, 0.0004],
      [200, 0.02],
      [404, 9],
    ] as const)
      meters.request('alive', status, seconds)
    meters.request('ready', 200, 0.0005)
    // Reading them twice must not count anything twice.
    await meters.text()
    const lines = (await meters.text()).split('\n')
    expect(lines.filter((line) => line.startsWith('countersign_requests_total'))).toEqual([
      'countersign_requests_total{endpoint="alive",status="200"} 2',
      'countersign_requests_total{endpoint="alive",status="404"} 1',
      'countersign_requests_total{endpoint="ready",status="200"} 1',
    ])
    const durations = lines.filter((line) => line.startsWith('countersign_request_seconds'))
    expect(lines).toContain('# TYPE countersign_request_seconds histogram')
    expect(durations).toHaveLength(2 * 14)
    expect(durations).toEqual(
      expect.arrayContaining([
        'countersign_request_seconds_bucket{le="0.0005",endpoint="alive"} 1',
        'countersign_request_seconds_bucket{le="0.01",endpoint="alive"} 1',
        'countersign_request_seconds_bucket{le="0.025",endpoint="alive"} 2',
        'countersign_request_seconds_bucket{le="5",endpoint="alive"} 2',
        'countersign_request_seconds_bucket{le="+Inf",endpoint="alive"} 3',
        'countersign_request_seconds_sum{endpoint="alive"} 9.0204',
        'countersign_request_seconds_count{endpoint="alive"} 3',
        'countersign_request_seconds_bucket{le="0.0005",endpoint="ready"} 1',
      ]),
    )
  })

  test('count verdicts by site, presentation and outcome', async () => {
    const meters = createMeters()
    const siteId = 'shop' as SiteId
    meters.verdict(siteId, 'bearer', 'allowed')
    meters.verdict(siteId, 'bearer', 'allowed')
    meters.verdict(siteId, 'credential', 'credential_expired')
    await meters.text()
    expect(
      (await meters.text()).split('\n').filter((line) => line.startsWith('countersign_verdicts')),
    ).toEqual([
      'countersign_verdicts_total{site_id="shop",presented="bearer",outcome="allowed"} 2',
      'countersign_verdicts_total{site_id="shop",presented="credential",outcome="credential_expired"} 1',
    ])
  })
})
