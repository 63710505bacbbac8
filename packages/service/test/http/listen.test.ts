import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { closeServer, listen } from '../../src/http/server.ts'

test.each([
  ['localhost', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.1'],
])('a server at %s listens at %s, whatever the name resolves to', async (host, address) => {
  const server = createServer()
  const port = await listen(server, { host, port: 0 })
  expect(server.address()).toMatchObject({ address, port } satisfies Partial<AddressInfo>)
  await closeServer(server)
})
