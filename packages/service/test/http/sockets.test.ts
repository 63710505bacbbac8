import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Problem } from '../../src/problem.ts'
import type { Routes } from '../../src/routes/all.ts'
import { checkContract } from '../contract-check.ts'
import { type AppDouble, createAppDouble, SITE } from './app-double.ts'

const routes = {
  alive: async () => ({ status: 200, body: { status: 'alive' } }),
  protected_action: (request) => {
    request.requirePresentation()
    return Promise.reject(new Problem('issuer_untrusted'))
  },
  exchange_proof: () => Promise.reject(new Problem('issuer_untrusted')),
} satisfies Routes as Routes

let double: AppDouble
let port: number
beforeAll(async () => {
  double = createAppDouble({ routes })
  port = (await double.app.listen()).port
})
afterAll(() => double.app.close())

interface RawAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly text: string
}

/** Sends bytes, piece by piece, and reads whatever comes until the other side closes. */
async function talk(pieces: Iterable<string | Buffer> | AsyncIterable<string | Buffer>): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1')))
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.on('close', resolve))
  for await (const piece of pieces) {
    if (socket.destroyed || text !== '') break
    if (!socket.write(piece))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
  }
  await closed
  return text
}

function answersIn(text: string): RawAnswer[] {
  const found: RawAnswer[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((header) => [
        header.slice(0, header.indexOf(':')).toLowerCase(),
        header.slice(header.indexOf(':') + 1).trim(),
      ]),
    )
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0)
    found.push({ status: Number(line.split(' ')[1]), headers, text: rest.slice(end + 4, bodyEnd) })
    rest = rest.slice(bodyEnd)
  }
  return found
}

async function ask(
  head: string[],
  body: Iterable<string | Buffer> | AsyncIterable<string | Buffer> = [],
): Promise<RawAnswer> {
  const [method = '', path = ''] = head[0]?.split(' ') ?? []
  const sent = async function* () {
    yield `${head.join('\r\n')}\r\n\r\n`
    yield* body
  }
  const [answer] = answersIn(await talk(sent()))
  if (answer === undefined) throw new Error('no answer')
  checkContract({ ...answer, method, path: answer.status === 431 || path.length > 9000 ? '/' : path })
  return answer
}

const codeOf = ({ status, text }: RawAnswer) => `${status} ${JSON.parse(text).code}`
const HOST = 'Host: id.example'
const CLOSE = 'Connection: close'
const ACT = 'POST /api/protected/action HTTP/1.1'
const EXCHANGE = ['POST /api/auth/exchange-proof HTTP/1.1', HOST, 'Content-Type: application/json']

describe('over a real connection', () => {
  test('two lines of a header that authenticates are refused, in any letter case (A007, A139)', async () => {
    const line = 'X-Service-Credential: abc'
    expect(codeOf(await ask([ACT, HOST, CLOSE, 'Content-Length: 0', line]))).toBe('401 issuer_untrusted')
    expect(codeOf(await ask([ACT, HOST, CLOSE, 'Content-Length: 0', line, line]))).toBe('400 auth_ambiguous')
    expect(
      codeOf(await ask([ACT, HOST, CLOSE, 'Content-Length: 0', line, 'x-SERVICE-credential: abd'])),
    ).toBe('400 auth_ambiguous')
    expect(
      codeOf(
        await ask([
          ACT,
          HOST,
          CLOSE,
          'Content-Length: 0',
          'Authorization: Bearer a',
          'authorization: Bearer b',
        ]),
      ),
    ).toBe('400 auth_ambiguous')
    expect(
      codeOf(await ask([ACT, HOST, CLOSE, 'Content-Length: 0', 'X-API-Key: a', 'X-Api-Key: b', line])),
    ).toBe('400 auth_ambiguous')
  })
  test('an empty credential header is none (A002)', async () => {
    expect(codeOf(await ask([ACT, HOST, CLOSE, 'Content-Length: 0', 'X-Service-Credential:']))).toBe(
      '401 credential_missing',
    )
    expect(codeOf(await ask([ACT, HOST, CLOSE, 'Content-Length: 0', 'X-Service-Credential:    ']))).toBe(
      '401 credential_missing',
    )
  })
  test('headers over 16 KiB are refused in our own words (A011, A220)', async () => {
    expect(codeOf(await ask([ACT, HOST, `X-Service-Credential: ${'A'.repeat(16_385)}`]))).toBe(
      '431 header_too_large',
    )
    expect(
      codeOf(
        await ask(['GET /healthz HTTP/1.1', HOST, ...Array.from({ length: 10_000 }, (_, i) => `X-H${i}: y`)]),
      ),
    ).toBe('431 header_too_large')
    expect(codeOf(await ask([`GET /healthz?${'a'.repeat(1024 * 1024)} HTTP/1.1`, HOST]))).toBe(
      '431 header_too_large',
    )
  })
  test('a long URL is refused as one while its headers still fit', async () => {
    expect(codeOf(await ask([`GET /healthz?${'a'.repeat(9000)} HTTP/1.1`, HOST, CLOSE]))).toBe(
      '414 uri_too_long',
    )
  })
  test('no header line is dropped because there are many', async () => {
    const many = Array.from({ length: 2500 }, () => 'a:')
    const line = 'X-Service-Credential: abc'
    expect(codeOf(await ask([ACT, HOST, CLOSE, 'Content-Length: 0', line, ...many, line]))).toBe(
      '400 auth_ambiguous',
    )
  })
  test('a body that is announced too long is refused unread (A219)', async () => {
    const answer = await ask([...EXCHANGE, 'Content-Length: 104857600'], ['{"credential":'])
    expect([codeOf(answer), answer.headers.connection]).toEqual(['413 request_too_large', 'close'])
  })
  test('a chunked body without end is refused at its limit, and the connection closed (A219)', async () => {
    let sent = 0
    const endless = async function* () {
      const chunk = Buffer.concat([Buffer.from('4000\r\n'), Buffer.alloc(0x4000, 97), Buffer.from('\r\n')])
      for (; sent < 6400; sent++) {
        yield chunk
        await sleep(1)
      }
    }
    expect(codeOf(await ask([...EXCHANGE, 'Transfer-Encoding: chunked'], endless()))).toBe(
      '413 request_too_large',
    )
    expect(sent).toBeLessThan(6400)
  })
  test('a refused request does not wait for its chunked body', async () => {
    const drip = async function* () {
      for (let i = 0; i < 1000; i++) {
        yield '1\r\na\r\n'
        await sleep(10)
      }
    }
    const answer = await ask(['POST /nothing HTTP/1.1', HOST, 'Transfer-Encoding: chunked'], drip())
    expect([codeOf(answer), answer.headers.connection]).toEqual(['404 not_found', 'close'])
  })
  test('a short body that is not read does not cost the connection', async () => {
    const refused = ['POST /nothing HTTP/1.1', HOST, 'Content-Length: 3', '', 'abc'].join('\r\n')
    const next = ['GET /healthz HTTP/1.1', HOST, CLOSE, '', ''].join('\r\n')
    expect(answersIn(await talk([refused + next])).map(({ status }) => status)).toEqual([404, 200])
  })
  test('what is not HTTP is told so', async () => {
    expect(codeOf(await ask(['this is not HTTP']))).toBe('400 request_malformed')
    expect(
      codeOf(await ask([...EXCHANGE, 'Content-Length: 5', 'Transfer-Encoding: chunked'], ['0\r\n\r\n'])),
    ).toBe('400 request_malformed')
    expect(codeOf(await ask(['GET /healthz HTTP/1.1', HOST, 'A\u0000b: x']))).toBe('400 request_malformed')
  })
  test.each(['gzip, chunked', 'identity, chunked', 'chunked, chunked', 'x-unknown, chunked'])(
    'the transfer coding %s is rejected, and the connection closed (S12)',
    async (coding) => {
      const sent = [...EXCHANGE, `Transfer-Encoding: ${coding}`, '', '0', '', ACT, HOST, CLOSE, '', ''].join(
        '\r\n',
      )
      const answers = answersIn(await talk([sent]))
      expect(answers.map(codeOf)).toEqual(['400 request_malformed'])
      expect(answers[0]?.headers.connection).toBe('close')
    },
  )
  test('two lines for the form of the body are not accepted, whichever of them is right (S12)', async () => {
    const [act = '', host = ''] = EXCHANGE
    const body = ['2\r\n{}\r\n0\r\n\r\n']
    const twice = (...lines: string[]) => ask([act, host, CLOSE, ...lines], body)
    const json = 'Content-Type: application/json'
    const chunked = 'Transfer-Encoding: chunked'
    expect((await twice(json, chunked)).status).toBe(422)
    expect(codeOf(await twice(json, json, chunked))).toBe('415 unsupported_media_type')
    expect(codeOf(await twice(json, 'content-TYPE: text/plain', chunked))).toBe('415 unsupported_media_type')
    expect(codeOf(await twice(json, 'Content-Encoding: identity', 'Content-Encoding: gzip', chunked))).toBe(
      '415 unsupported_media_type',
    )
    expect(codeOf(await twice(json, chunked, chunked))).toBe('400 request_malformed')
  })
  test('of two request ids none is repeated', async () => {
    const id = (...lines: string[]) =>
      ask(['GET /healthz HTTP/1.1', HOST, CLOSE, ...lines]).then(({ headers }) => headers['x-request-id'])
    expect(await id('X-Request-Id: r-1')).toBe('r-1')
    expect(await id('X-Request-Id: r-1', 'x-request-ID: r-2')).not.toMatch(/r-[12]/)
  })
  test('chunked is understood in any letter case, and only in HTTP/1.1 (S12)', async () => {
    const body = ['2\r\n{}\r\n0\r\n\r\n']
    expect((await ask([...EXCHANGE, CLOSE, 'Transfer-Encoding: CHUNKED'], body)).status).toBe(422)
    const old = EXCHANGE.map((line) => line.replace('HTTP/1.1', 'HTTP/1.0'))
    expect((await ask([...old, 'Transfer-Encoding: chunked'], body)).status).toBe(400)
  })
  test('a request target in absolute form must name this service, and is the path it names (S12)', async () => {
    const target = (url: string) => ask([`GET ${url} HTTP/1.1`, HOST, CLOSE])
    expect(
      (await talk([`GET https://id.example/healthz HTTP/1.1\r\n${HOST}\r\n${CLOSE}\r\n\r\n`])).slice(9, 12),
    ).toBe('200')
    expect(
      (await talk([`GET http://ID.example/healthz HTTP/1.1\r\n${HOST}\r\n${CLOSE}\r\n\r\n`])).slice(9, 12),
    ).toBe('200')
    for (const url of [
      'http://evil.example/healthz',
      'http://id.example:81/healthz',
      'http://a@id.example/healthz',
      'http:///healthz',
    ]) {
      expect([url, codeOf(await target(url))]).toEqual([url, '400 request_malformed'])
    }
  })
  test('only HTTP/1.1 and HTTP/1.0 are answered', async () => {
    for (const version of ['HTTP/2.0', 'HTTP/0.9'])
      expect([version, codeOf(await ask([`GET /healthz ${version}`, HOST, CLOSE]))]).toEqual([
        version,
        '400 request_malformed',
      ])
    expect((await ask(['GET /healthz HTTP/1.0', HOST])).status).toBe(200)
  })
  test('a request needs exactly one Host', async () => {
    for (const path of ['/healthz', '/robots.txt'])
      expect(codeOf(await ask([`GET ${path} HTTP/1.1`, CLOSE]))).toBe('400 request_malformed')
    expect(codeOf(await ask(['GET /healthz HTTP/1.1', HOST, 'Host: evil.example', CLOSE]))).toBe(
      '400 request_malformed',
    )
  })
  test('an unknown expectation does not bring words that are not ours', async () => {
    expect((await ask(['GET /healthz HTTP/1.1', HOST, CLOSE, 'Expect: nonsense'])).status).toBe(200)
  })
  test('HEAD has the headers of GET and no body', async () => {
    const text = await talk([['HEAD /healthz HTTP/1.1', HOST, CLOSE, '', ''].join('\r\n')])
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text.endsWith('\r\n\r\n')).toBe(true)
  })
  test('a thousand pipelined requests are all answered, and in order (A225)', async () => {
    const one = (i: number) =>
      `GET /healthz HTTP/1.1\r\n${HOST}\r\nX-Request-Id: r${i}\r\n${i === 999 ? `${CLOSE}\r\n` : ''}\r\n`
    const answers = answersIn(await talk([Array.from({ length: 1000 }, (_, i) => one(i)).join('')]))
    expect(answers.map(({ headers }) => headers['x-request-id'])).toEqual(
      Array.from({ length: 1000 }, (_, i) => `r${i}`),
    )
    for (const answer of answers) checkContract({ ...answer, method: 'GET', path: '/healthz' })
  })
})

test('headers that do not come in time end the connection', { tags: 'long' }, async () => {
  const { server } = double.app
  expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 30_000])
  const slow = createAppDouble({ routes })
  slow.app.server.headersTimeout = 200
  const [normalPort, slowPort] = [port, (await slow.app.listen()).port]
  port = slowPort
  try {
    const text = await talk(['GET /healthz HTTP/1.1\r\nHost: id'])
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(text).toContain('The request timed out.')
  } finally {
    port = normalPort
    await slow.app.close()
  }
})

test('closing lets finish what runs, and accepts nothing new', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const closing = createAppDouble({
    routes: {
      alive: async () => {
        start()
        await held
        return { status: 200, body: { status: 'alive' } }
      },
    },
  })
  const url = `http://127.0.0.1:${(await closing.app.listen()).port}/healthz`
  const running = fetch(url)
  await started
  const closed = closing.app.close()
  await sleep(20)
  await expect(fetch(url)).rejects.toThrow()
  release()
  const answer = await running
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'alive' }])
  await closed
})

test('an answer that cannot be written ends the connection, and not the process', async () => {
  const broken = createAppDouble({
    routes: { alive: async () => ({ status: 200, headers: { 'x-bad': 'a\r\nb' } }) },
  })
  const url = `http://127.0.0.1:${(await broken.app.listen()).port}/healthz`
  await expect(fetch(url)).rejects.toThrow()
  expect(broken.logLines.join('')).toContain('Invalid character in header')
  await broken.app.close()
})

test('a key that is deleted while the body is still coming does nothing any more (A148)', {
  tags: 'long',
}, async () => {
  let done = 0
  const slow = createAppDouble({
    routes: {
      create_key: async () => {
        done++
        return {
          status: 201,
          body: { key_id: 'key_x', api_key: `svc_sk_${'A'.repeat(49)}`, permissions: ['feed:read'] },
        }
      },
    },
  })
  const { port } = await slow.app.listen()
  const body = '{"permissions":["feed:read"]}'
  const send = async (meanwhile: (keyId: string) => void) => {
    const key = slow.key({ permissions: ['site:admin'] })
    const { keyId } = [...slow.keys.values()].at(-1) as { keyId: string }
    const head = [
      `POST /api/sites/${SITE}/keys HTTP/1.1`,
      HOST,
      CLOSE,
      'Content-Type: application/json',
      `X-API-Key: ${key}`,
    ]
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (data) => (text += data.toString('latin1')))
    socket.on('error', () => {})
    const closed = new Promise((resolve) => socket.on('close', resolve))
    socket.write(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
    await sleep(400)
    meanwhile(keyId)
    socket.write(body.slice(5))
    await closed
    const [answer] = answersIn(text)
    return answer === undefined || answer.status < 300 ? answer?.status : codeOf(answer)
  }
  expect(await send(() => {})).toBe(201)
  const deleted = await send((keyId) => {
    for (const [sha256, key] of slow.keys) if (key.keyId === keyId) slow.keys.delete(sha256)
    slow.deps.apiKeys.forget(keyId)
  })
  expect([deleted, done]).toEqual(['401 api_key_invalid', 1])
  await slow.app.close()
})

test('a client that asks and never reads is cut off, and what was to be sent is let go', {
  tags: 'long',
}, async () => {
  const { server } = double.app
  expect(server.timeout).toBeGreaterThan(30_000)
  const large = createAppDouble({
    routes: {
      docs: async () => ({ status: 200, contentType: 'text/html', body: 'x'.repeat(32 * 1024 * 1024) }),
    },
  })
  const { port } = await large.app.listen()
  const ask = async (timeoutMs: number, look: (ours: Socket) => Promise<void>) => {
    large.app.server.timeout = timeoutMs
    const accepted = new Promise<Socket>((resolve) => large.app.server.once('connection', resolve))
    const socket = connect(port, '127.0.0.1').pause()
    socket.on('error', () => {})
    socket.write(`GET /docs HTTP/1.1\r\n${HOST}\r\n\r\n`)
    const ours = await accepted
    await look(ours)
    socket.destroy()
  }
  await ask(0, async (ours) => {
    await sleep(1500)
    expect(ours.destroyed).toBe(false)
  })
  await ask(200, (ours) => expect.poll(() => ours.destroyed).toBe(true))
  await large.app.close()
})
