import { expect, test } from 'vitest'
import { openMetricsServer } from '../../src/http/metrics-server.ts'
import { createMeters } from '../../src/meters.ts'

test('metrics are served to this machine, on a port of their own, and nothing else is', async () => {
  const server = await openMetricsServer(createMeters(), 0)
  try {
    const url = `http://127.0.0.1:${server.port}`
    const answer = await fetch(`${url}/metrics`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(await answer.text()).toContain('# TYPE countersign_requests_total counter')
    expect((await fetch(`${url}/`)).status).toBe(404)
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404)
  } finally {
    await server.close()
  }
})

test('a port that is taken is an error', async () => {
  const first = await openMetricsServer(createMeters(), 0)
  await expect(openMetricsServer(createMeters(), first.port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await first.close()
})
