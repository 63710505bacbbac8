import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { follow, type SseClient } from '../../packages/service/test/feed/sse-client.ts'
import { type DevProcess, startDevProcess } from '../../scripts/dev-process.ts'
import { type NginxProcess, startNginx, whyNoNginx } from './nginx-process.ts'

const DEPLOYED = readFileSync(join(import.meta.dirname, '../../deploy/nginx.conf'), 'utf8')

const whyNot = whyNoNginx()
if (whyNot !== undefined)
  console.warn(`\nSKIPPED: the feed through nginx is not tested here, for ${whyNot}.\n`)

/**
 * As it is deployed, and as configured without feeds in mind: buffering is on, and HTTP/1.0 is
 * spoken with the service.
 */
const configurations: [string, (port: number, service: string) => string][] = [
  [
    'configured as in deploy/',
    (port, service) =>
      DEPLOYED.replaceAll(/server node-\w+:8787/g, `server ${service}`).replace(
        'listen 8080',
        `listen 127.0.0.1:${port}`,
      ),
  ],
  [
    'that knows nothing of feeds',
    (port, service) => `server { listen 127.0.0.1:${port}; location / { proxy_pass http://${service}; } }`,
  ],
]

describe.skipIf(whyNot !== undefined).each(configurations)('an nginx %s', (_, configuration) => {
  let directory: string
  let service: DevProcess
  let nginx: NginxProcess
  let port: number
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'countersign-nginx-'))
    service = await startDevProcess()
    nginx = await startNginx(directory, (free) => configuration(free, new URL(service.dev.base_url).host))
    port = Number(new URL(nginx.url).port)
  })
  afterAll(async () => {
    await nginx?.stop()
    await service?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  let made = 0
  const revoke = async () => {
    const { base_url, site_key, site_id } = service.dev
    const answer = await fetch(`${base_url}/api/wallet/revoke-user`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': site_key },
      body: JSON.stringify({ ppid: `did:service:ppid_${Date.now()}${++made}`, site_id }),
    })
    return (await answer.json()) as { epoch: string; seq: number }
  }
  const listen = (after?: string): Promise<SseClient> =>
    follow(port, service.dev.site_id, {
      key: service.dev.site_key,
      headers: after === undefined ? {} : { 'last-event-id': after },
    })

  test('passes a feed on as it comes', async () => {
    const stream = await listen()
    await stream.until(({ event }) => event === 'heartbeat', 3000)
    for (let i = 0; i < 3; i++) {
      const { epoch, seq } = await revoke()
      await stream.until(({ id }) => id === `${epoch}.${seq}`, 3000)
    }
    expect(stream.isClosed).toBe(false)
    stream.close()
  })

  test('passes a snapshot and the place after it on', async () => {
    const { site_id, site_key } = service.dev
    const answer = await fetch(`${nginx.url}/api/sites/${site_id}/snapshot`, {
      headers: { 'x-api-key': site_key },
    })
    const lines = (await answer.text()).trimEnd().split('\n')
    const [head, end] = [JSON.parse(lines[0] ?? ''), JSON.parse(lines.at(-1) ?? '')]
    expect([head.type, end.type, end.lines]).toEqual(['head', 'end', lines.length - 1])
    const stream = await listen(`${head.epoch}.${head.seq}`)
    await stream.until(({ event }) => event === 'heartbeat', 3000)
    expect(stream.entries).toEqual([])
    stream.close()
  })
})
