import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SiteId } from '@countersign/core'
import { afterEach, expect, test } from 'vitest'
import { createFetchKeySet } from '../../src/signals/fetch-key-set.ts'
import { newSigner } from './test-sender.ts'

const SITE = 'shop.example' as SiteId
let server: Server | undefined
afterEach(() => server?.close())

/** Fetches from a host that answers so. */
async function fetchFrom(answer: RequestListener, allowLoopback = true) {
  server = createServer(answer)
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return createFetchKeySet({ allowLoopback })(`http://127.0.0.1:${port}/keys`, SITE)
}

test('reads the keys of a key set', async () => {
  const { jwk, kid } = await newSigner()
  const set = { keys: [jwk, { kty: 'oct' }, { ...jwk, use: 'enc' }] }
  expect(await fetchFrom((_, answer) => void answer.end(JSON.stringify(set)))).toMatchObject({
    keys: [{ kid, key: { algorithm: 'ES256' } }],
  })
})

test.each<[string, RequestListener]>([
  ['no JSON', (_, answer) => void answer.end('<html>')],
  ['no key set', (_, answer) => void answer.end('{}')],
  ['duplicate members', (_, answer) => void answer.end('{"keys":[],"keys":[]}')],
])('a host that answers with %s has no keys', async (_name, answer) => {
  expect(await fetchFrom(answer)).toHaveProperty('fault')
})

test.each<[string, RequestListener]>([
  ['an error', (_, answer) => void answer.writeHead(500).end()],
  ['a redirect', (_, answer) => void answer.writeHead(302, { location: '/else' }).end()],
  ['more than 64 KiB', (_, answer) => void answer.end(' '.repeat(65_537))],
  ['half an answer', (_, answer) => answer.write('{', () => answer.destroy())],
])('a host that answers with %s is a failure (A289)', async (_name, answer) => {
  await expect(fetchFrom(answer)).rejects.toThrow()
})

test('this machine is not asked, except in development (A289)', async () => {
  await expect(fetchFrom((_, answer) => void answer.end('{}'), false)).rejects.toThrow(/not allowed/)
})
