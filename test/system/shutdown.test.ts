import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGuard } from '@countersign/sdk'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { addIssuer, createClient, type Issuer } from '../process/client.ts'
import { heldKinds, holdConnection } from '../process/held-connections.ts'
import { withDatabase } from '../process/outside-log.ts'
import {
  cleanUp,
  createHome,
  furnish,
  type ServiceHome,
  type ServiceProcess,
  startService,
} from '../process/service-process.ts'

const TEST_MS_MAX = 300_000

let home: ServiceHome
let dev: DevFile
let service: ServiceProcess
let issuer: Issuer | undefined
const held: Socket[] = []
beforeAll(async () => {
  home = await createHome()
  dev = await furnish(home)
}, TEST_MS_MAX)
afterEach(() => {
  for (const socket of held.splice(0)) socket.destroy()
})
afterAll(cleanUp, TEST_MS_MAX)

const isKnown = (credentialId: string) =>
  withDatabase(
    home,
    async (ask) =>
      (await ask(`SELECT 1 FROM credentials WHERE credential_id = '${credentialId}'`)).length === 1,
  )

describe('SIGTERM ends the process with 0 and writes what waits, while a client holds open (B3)', () => {
  test.each(heldKinds)('%s', { tags: 'long', timeout: TEST_MS_MAX }, async (kind) => {
    service = await startService(home)
    const client = createClient(service.url, dev)
    issuer ??= await addIssuer(client, dev)
    const shown = await issuer.issue()
    held.push(await holdConnection(service.url, kind))
    expect((await client.show(shown.header)).status).toBe(200)
    expect(await service.stop()).toBe(0)
    expect(await isKnown(shown.id)).toBe(true)
  })

  test('what a guard leaves behind when it is closed', { tags: 'long', timeout: TEST_MS_MAX }, async () => {
    service = await startService(home)
    const guards = Array.from({ length: 4 }, () =>
      createGuard({
        baseUrl: home.baseUrl,
        siteId: dev.site_id,
        apiKey: dev.site_key,
        onStateChange: () => undefined,
      }),
    )
    for (const guard of guards) await guard.ready()
    for (const guard of guards) await guard.close()
    expect(await service.stop()).toBe(0)
  })

  test('control: Node by itself waits for a silent connection', { timeout: TEST_MS_MAX }, async () => {
    const server = createServer((_request, response) => void response.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const socket = await holdConnection(`http://127.0.0.1:${port}`, 'a silent connection')
    let isClosed = false
    const closed = new Promise<void>((resolve) => {
      server.close(() => {
        isClosed = true
        resolve()
      })
    })
    for (let turn = 0; turn < 100; turn++) await nextTurn()
    expect(isClosed).toBe(false)
    socket.destroy()
    await closed
  })
})
