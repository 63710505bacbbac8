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
