import type { lookup } from 'node:dns'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { generatePrivateKey, type PublicKey } from '@countersign/core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDidWebFetcher, type DidWebOptions } from '../../src/did-web/fetch-document.ts'
import { AddressForbidden } from '../../src/net/public-address.ts'
import { always, listen } from '../net/hosts.ts'
import { certificate, certificateKey } from './certificate.ts'

let key: PublicKey
beforeAll(async () => {
  key = (await generatePrivateKey('Ed25519')).publicKey
})

const documentOf = (did: string, more: object = {}) => ({
  id: did,
  verificationMethod: [
    { id: `${did}#key-1`, type: 'Multikey', controller: did, publicKeyMultibase: key.multikey },
  ],
  assertionMethod: [`${did}#key-1`],
  ...more,
})

const json =
  (did: string, more?: object): RequestListener =>
  (_request, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(documentOf(did, more)))
  }

/** As in development: this machine, by http. */
async function fetchHere(
  answer: (did: string) => RequestListener,
  path = '',
  options: Partial<DidWebOptions> = {},
) {
  let listener: RequestListener = () => {}
  const port = await listen(createHttpServer((request, response) => listener(request, response)))
  const did = `did:web:localhost%3A${port}${path}`
  listener = answer(did)
  return createDidWebFetcher({ allowLoopback: true, ...options }).fetch(did)
}

/** As in production, with a host that is public for the test's sake. */
async function fetchElsewhere(
  answer: (did: string) => RequestListener,
  options: Partial<DidWebOptions> = {},
  host = 'issuer.test',
) {
  let listener: RequestListener = () => {}
  const port = await listen(
    createHttpsServer({ cert: certificate, key: certificateKey }, (request, response) =>
      listener(request, response),
    ),
  )
  const did = `did:web:${host}%3A${port}`
  listener = answer(did)
  const publicHere = {
    isPublic: (address: string) => address === '127.0.0.1',
    portsAllowed: [port],
    ca: certificate,
    resolve: always('127.0.0.1'),
  }
  return createDidWebFetcher({ allowLoopback: false, ...publicHere, ...options }).fetch(did)
}

describe('createDidWebFetcher', () => {
  it('reads the keys of a document over https', async () => {
    expect(await fetchElsewhere(json)).toMatchObject({
      keys: [{ id: 'key-1', key: { multikey: key.multikey } }],
      leftOut: [],
    })
  })

  it('asks for the well-known path, or that of the DID', async () => {
    const asked: (string | undefined)[] = []
    const noting =
      (did: string): RequestListener =>
      (request, answer) => {
        asked.push(request.url)
        json(did)(request, answer)
      }
    await fetchHere(noting)
    await fetchHere(noting, ':users:alice')
    expect(asked).toEqual(['/.well-known/did.json', '/users/alice/did.json'])
  })

  it('lets one site have a few under way, and the service itself as many as it needs', async () => {
    const held: (() => void)[] = []
    let listener: RequestListener = () => {}
    const port = await listen(createHttpServer((request, response) => listener(request, response)))
    const did = `did:web:localhost%3A${port}`
    listener = (request, answer) => void held.push(() => json(did)(request, answer))
    const fetcher = createDidWebFetcher({ allowLoopback: true })
    const TOO_MUCH = { fault: 'too many DID documents are being fetched at the moment; try again' }
    const running = Array.from({ length: 4 }, () => fetcher.fetch(did, 'loud.example'))
    expect(await fetcher.fetch(did, 'loud.example')).toEqual(TOO_MUCH)
    for (let i = 0; i < 28; i++) running.push(fetcher.fetch(did, `s${i}.example`))
    expect(await fetcher.fetch(did, 'last.example')).toEqual(TOO_MUCH)
    running.push(fetcher.fetch(did))
    await expect.poll(() => held.length).toBe(33)
    for (const answer of held) answer()
    for (const fetched of await Promise.all(running)) expect(fetched).toHaveProperty('keys')
    listener = json(did)
    expect(await fetcher.fetch(did, 'loud.example')).toHaveProperty('keys')
  })

  it('does not take a certificate that no authority vouches for', async () => {
    const { ca: _ca, ...withoutCa } = { ca: '', resolve: always('127.0.0.1') }
    expect(await fetchElsewhere(json, { ...withoutCa, ca: undefined as never })).toMatchObject({
      fault: 'the DID document could not be fetched',
    })
  })

  it('does not take the certificate of another host', async () => {
    expect(await fetchElsewhere(json, {}, 'unlisted.test')).toMatchObject({
      fault: 'the DID document could not be fetched',
    })
  })

  it('does not ask by http, nor on this machine, unless it is told to', async () => {
    const fetched = await fetchHere(json, '', {
      allowLoopback: false,
      portsAllowed: Array.from({ length: 65536 }, (_, i) => i),
    })
    expect(fetched).toMatchObject({ fault: 'the DID document could not be fetched' })
  })

  it('says of a document without any key that it has none', async () => {
    expect(await fetchHere((did) => json(did, { assertionMethod: [] }))).toEqual({ keys: [], leftOut: [] })
    expect(await fetchHere((did) => json(did, { assertionMethod: undefined }))).toEqual({
      keys: [],
      leftOut: [],
    })
  })

  it.each<[string, (did: string) => RequestListener]>([
    ['a document of another DID', () => json('did:web:other.example')],
    ['an empty document of another DID', () => json('did:web:other.example', { assertionMethod: [] })],
    ['404', () => (_q, answer) => answer.writeHead(404).end()],
    [
      'a redirect',
      () => (_q, answer) => answer.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ],
    [
      'HTML',
      (did) => (_q, answer) =>
        answer.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(documentOf(did))),
    ],
    ['no content type', (did) => (_q, answer) => answer.end(JSON.stringify(documentOf(did)))],
    [
      'a compressed answer',
      (did) => (_q, answer) =>
        answer
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(JSON.stringify(documentOf(did))),
    ],
    [
      'JSON with a member twice',
      (did) => (_q, answer) =>
        answer
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"id":"x",${JSON.stringify(documentOf(did)).slice(1)}`),
    ],
    [
      'bytes that are no UTF-8',
      () => (_q, answer) =>
        answer
          .writeHead(200, { 'content-type': 'application/json' })
          .end(Buffer.from('{"id":"\xff"}', 'latin1')),
    ],
    ['too many bytes, announced', (did) => json(did, { pad: 'x'.repeat(70_000) })],
    [
      'a cut answer',
      () => (_q, answer) =>
        void answer
          .writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 })
          .write('{', () => answer.destroy()),
    ],
    [
      'a switch of protocols',
      () => (_q, answer) => answer.writeHead(101, { connection: 'upgrade', upgrade: 'x' }).end(),
    ],
  ])('does not take %s', async (_name, answer) => {
    expect(await fetchHere(answer)).toHaveProperty('fault')
  })

  it('A205: does not follow a redirect, not even to the same host', async () => {
    let asked = 0
    const fetched = await fetchHere((did) => (request, answer) => {
      asked++
      if (request.url === '/.well-known/did.json') answer.writeHead(301, { location: '/did.json' }).end()
      else json(did)(request, answer)
    })
    expect(fetched).toHaveProperty('fault')
    expect(asked).toBe(1)
  })

  it('A207: gives up on an answer without end', async () => {
    let sent = 0
    const fetched = await fetchHere(() => (_q, answer) => {
      answer.writeHead(200, { 'content-type': 'application/json' })
      const pour = () => {
        while (!answer.destroyed && answer.write(' '.repeat(8192))) sent += 8192
      }
      answer.on('drain', pour)
      pour()
    })
    expect(fetched).toMatchObject({ fault: 'the DID document is larger than 64 KiB' })
    expect(sent).toBeLessThan(16 * 1024 * 1024)
  })

  it('A207: gives up on an answer that drips', async () => {
    const fetched = await fetchHere(
      () => (_q, answer) => {
        answer.writeHead(200, { 'content-type': 'application/json' })
        const drip = setInterval(() => answer.write(' '), 10)
        answer.on('close', () => clearInterval(drip))
      },
      '',
      { timeoutMs: 150 },
    )
    expect(fetched).toMatchObject({ fault: 'the DID document could not be fetched' })
  })

  it('gives up on a host that says nothing', async () => {
    expect(await fetchHere(() => () => {}, '', { timeoutMs: 100 })).toMatchObject({
      fault: 'the DID document could not be fetched',
    })
  })
})

describe('where it will not knock', () => {
  /**
   * How often a client connected to a port of this machine while a document was fetched from there.
   */
  async function knocks(options: Partial<DidWebOptions>, host = 'issuer.test') {
    let connections = 0
    const port = await listen(
      createTcpServer((socket) => {
        connections++
        socket.destroy()
      }),
    )
    const fetched = await createDidWebFetcher({
      allowLoopback: false,
      portsAllowed: [port],
      ...options,
    }).fetch(`did:web:${host}%3A${port}`)
    return { connections, fetched }
  }

  it.each([
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    'fd00:ec2::254',
    '64:ff9b::7f00:1',
  ])('A203: sends no packet when a name leads to %s', async (address) => {
    const { connections, fetched } = await knocks({ resolve: always(address) })
    expect(fetched).toMatchObject({
      fault: 'the DID document could not be fetched',
      cause: expect.any(AddressForbidden),
    })
    expect(connections).toBe(0)
  })

  it('A203: sends no packet when one of several addresses is not public', async () => {
    const { connections } = await knocks({ resolve: always('8.8.8.8', '127.0.0.1') })
    expect(connections).toBe(0)
  })

  it('does knock when the address is public, so that the tests above can fail', async () => {
    const { connections } = await knocks({ resolve: always('127.0.0.1'), isPublic: () => true })
    expect(connections).toBe(1)
  })

  it('uses the address that it has checked: a name that changes its mind is asked once', async () => {
    let asked = 0
    const rebinding = ((
      _name: string,
      _options: object,
      callback: (error: null, found: object[]) => void,
    ) => {
      asked++
      callback(null, [{ address: asked === 1 ? '10.0.0.1' : '127.0.0.1', family: 4 }])
    }) as unknown as typeof lookup
    const { connections } = await knocks({
      resolve: rebinding,
      isPublic: (address) => address === '127.0.0.1',
    })
    expect([asked, connections]).toEqual([1, 0])
  })

  it('A201: asks this machine under its name only in development', async () => {
    const { connections } = await knocks({}, 'localhost')
    expect(connections).toBe(0)
  })

  it('in development, lets no other name lead to this machine, and localhost nowhere else', async () => {
    const here = await knocks({ allowLoopback: true, resolve: always('127.0.0.1') })
    const away = await knocks({ allowLoopback: true, resolve: always('8.8.8.8') }, 'localhost')
    expect([here.connections, away.connections]).toEqual([0, 0])
    expect(away.fetched).toMatchObject({ cause: expect.any(AddressForbidden) })
  })

  it.each(['22', '25', '80', '6379', '9200'])('A206: does not knock on port %s', async (port) => {
    let asked = false
    const resolve = (() => {
      asked = true
    }) as unknown as typeof lookup
    expect(
      await createDidWebFetcher({ allowLoopback: false, resolve }).fetch(`did:web:issuer.test%3A${port}`),
    ).toMatchObject({
      fault: 'a DID document is fetched over https, from port 443 or 8443 only',
    })
    expect(asked).toBe(false)
  })

  it.each([
    'did:web:127.0.0.1',
    'did:web:2130706433',
    'did:web:0x7f.1',
    'did:web:127.1',
    'did:web:a.example%2Fb',
    'did:web:user%40a.example',
    'did:web:a.example:..',
    'did:key:z6Mk',
    'https://a.example',
  ])('A201: asks no server about %s', async (did) => {
    const resolve = (() => {
      throw new Error('asked')
    }) as unknown as typeof lookup
    expect(await createDidWebFetcher({ allowLoopback: true, resolve }).fetch(did)).toMatchObject({
      fault: expect.stringContaining('not a did:web'),
    })
  })

  it('A211: says the same of a closed port, a silent one and a forbidden address', async () => {
    const server = createTcpServer()
    const closed = await listen(server)
    await new Promise((done) => server.close(done))
    const anyway = { isPublic: () => true, timeoutMs: 100 }
    const silent = await listen(createTcpServer(() => {}))
    const say = async (port: number, options: Partial<DidWebOptions>) => {
      const fetched = await createDidWebFetcher({
        allowLoopback: false,
        portsAllowed: [port],
        resolve: always('127.0.0.1'),
        ...options,
      }).fetch(`did:web:issuer.test%3A${port}`)
      return 'fault' in fetched && fetched.fault
    }
    const said = [await say(closed, anyway), await say(silent, anyway), await say(silent, {})]
    expect(new Set(said)).toEqual(new Set(['the DID document could not be fetched']))
  })

  it('fetches only so many at a time', async () => {
    let open = 0
    let most = 0
    const port = await listen(
      createHttpServer((_request, answer) => {
        most = Math.max(most, ++open)
        setTimeout(() => answer.end(() => open--), 50)
      }),
    )
    const fetcher = createDidWebFetcher({ allowLoopback: true })
    const fetched = await Promise.all(
      Array.from({ length: 80 }, (_, i) => fetcher.fetch(`did:web:localhost%3A${port}`, `s${i}.example`)),
    )
    expect(most).toBeLessThanOrEqual(32)
    expect(fetched.filter((one) => 'fault' in one && one.fault.startsWith('too many'))).toHaveLength(48)
  })
})
