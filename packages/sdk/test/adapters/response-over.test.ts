import { once } from 'node:events'
import { createServer, request } from 'node:http'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { onResponseOver } from '../../src/adapters/node-request.ts'
import { listening } from '../listening.ts'

test('a response whose client left before anyone asked is over', async () => {
  const seen: string[] = []
  const app = await listening(
    createServer(async (_, response) => {
      onResponseOver(response, () => seen.push('asked before'))
      const closed = once(response, 'close')
      response.socket?.destroy()
      await closed
      onResponseOver(response, () => seen.push('asked after'))
      seen.push('end')
    }),
  )
  const sent = request({ port: app.port, hostname: '127.0.0.1' })
  await once(sent.end(), 'error')
  await expect.poll(() => seen).toEqual(['asked before', 'asked after', 'end'])
  await app.close()
})

test('the same with HTTP/2', async () => {
  const seen: string[] = []
  const app = http2.createServer(async (_, response) => {
    const closed = once(response, 'close')
    response.stream.close()
    await closed
    onResponseOver(response, () => seen.push('over'))
    seen.push('end')
  })
  await once(app.listen(0, '127.0.0.1'), 'listening')
  const { port } = app.address() as AddressInfo
  const session = http2.connect(`http://127.0.0.1:${port}`)
  session
    .request({ ':path': '/' })
    .on('error', () => {})
    .end()
  await expect.poll(() => seen).toEqual(['over', 'end'])
  session.destroy()
  app.close()
})
