import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { getCredential, requireCredential } from '../../src/adapters/express.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/index.ts'

const server = createServer()
let site: TestSite
let bound: TestCredential
let origin: string
let session: ClientHttp2Session

beforeAll(async () => {
  site = await createTestSite({ siteId: 'shop.localhost' })
  bound = await site.issue({ bound: true })
  const guarded = requireCredential(await site.guard(), { scope: 'orders:read' }, { bodyBytesMax: 64 })
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    void guarded(request, response, async (error) => {
      if (error !== undefined) return void response.writeHead(500).end(String(error))
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part)
      const { subject } = getCredential(request)
      response.end(JSON.stringify({ ppid: subject.ppid, received: Buffer.concat(parts).toString() }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  session = connect(origin)
})
afterAll(async () => {
  session?.destroy()
  server.close()
  await site?.close()
})

/** Without Content-Length, as HTTP/2 may; the body in two pieces. */
async function ask(
  method: string,
  signed: string | undefined,
  sent = signed,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = await bound.headersFor(method, `${origin}/orders?a=1`, signed)
  const stream = session.request(
    { ':method': method, ':path': '/orders?a=1', ...headers },
    { endStream: sent === undefined },
  )
  if (sent !== undefined) {
    stream.write(sent.slice(0, 3))
    stream.end(sent.slice(3))
  }
  let status = 0
  stream.on('response', (fields) => {
    status = Number(fields[':status'])
  })
  let text = ''
  for await (const part of stream.setEncoding('utf8')) text += part
  return { status, body: JSON.parse(text) }
}

test('over HTTP/2 the body is checked too, and the handler reads it afterwards', async () => {
  expect(await ask('POST', 'some tea')).toEqual({
    status: 200,
    body: { ppid: bound.ppid, received: 'some tea' },
  })
  expect(await ask('POST', '')).toMatchObject({ status: 200, body: { received: '' } })
  expect(await ask('GET', undefined)).toMatchObject({ status: 200 })
  expect(await ask('POST', 'some tea', 'some TEA')).toMatchObject({
    status: 401,
    body: { code: 'proof_invalid' },
  })
  expect(await ask('POST', 'x'.repeat(65))).toMatchObject({
    status: 413,
    body: { code: 'request_too_large' },
  })
})
