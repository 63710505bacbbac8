import type { lookup } from 'node:dns'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createLogoFetcher } from '../../src/brand/fetch-logo.ts'
import { createFetcher, type FetchOptions } from '../../src/net/fetch-bytes.ts'
import { AddressForbidden } from '../../src/net/public-address.ts'
import { certificate, certificateKey } from '../did-web/certificate.ts'
import { always, listen } from '../net/hosts.ts'
import { chunk, createPng, createWebp, SVG } from './pictures.ts'

const createLogos = (options: FetchOptions) => createLogoFetcher(createFetcher(options))

/** As in development: this machine, by http. */
async function fetchHere(listener: RequestListener, options: Partial<FetchOptions> = {}) {
  const port = await listen(createHttpServer(listener))
  return createLogos({ allowLoopback: true, ...options }).fetch(
    new URL(`http://localhost:${port}/logo.png`),
    'shop.example',
  )
}

const send =
  (bytes: Buffer, type = 'image/png'): RequestListener =>
  (_request, answer) =>
    answer.writeHead(200, { 'content-type': type }).end(bytes)

describe('createLogoFetcher', () => {
  it('fetches a picture over https, whatever type the host calls it', async () => {
    const bytes = createPng()
    const port = await listen(
      createHttpsServer({ cert: certificate, key: certificateKey }, send(bytes, 'text/plain')),
    )
    const fetched = await createLogos({
      allowLoopback: false,
      isPublic: (address) => address === '127.0.0.1',
      portsAllowed: [port],
      ca: certificate,
      resolve: always('127.0.0.1'),
    }).fetch(new URL(`https://issuer.test:${port}/logo`), 'shop.example')
    expect(fetched).toMatchObject({
      url: `https://issuer.test:${port}/logo`,
      type: 'image/png',
      bytes,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  it('accepts 64 KiB and 1024 pixels, the most that is allowed', async () => {
    const empty = createPng(1024, 1024, { before: [chunk('tEXt', Buffer.alloc(0))] })
    const filled = chunk('tEXt', Buffer.alloc(65_536 - empty.length))
    const bytes = createPng(1024, 1024, { before: [filled] })
    expect(bytes).toHaveLength(65_536)
    expect(await fetchHere(send(bytes))).toMatchObject({ type: 'image/png' })
    const more = createPng(1024, 1024, { before: [chunk('tEXt', Buffer.alloc(65_537 - empty.length))] })
    expect(await fetchHere(send(more))).toMatchObject({ fault: 'the logo is larger than 64 KiB' })
  })

  it.each([
    ['as image/svg+xml', SVG, 'image/svg+xml'],
    ['as image/png', SVG, 'image/png'],
    ['after a byte order mark', Buffer.concat([Buffer.from('efbbbf', 'hex'), SVG]), 'image/png'],
  ])('A337: an SVG that is sent %s is not a logo', async (_name, bytes, type) => {
    expect(await fetchHere(send(bytes, type))).toEqual({ fault: 'the logo is not a PNG, WebP or JPEG' })
  })

  it('A338: a small file that states millions of pixels is not a logo', async () => {
    expect(await fetchHere(send(createPng(1025, 8)))).toEqual({
      fault: 'the logo has 1025 × 8 pixels, and may have 1024 on each side',
    })
    expect(await fetchHere(send(createWebp('VP8X', 16_777_216, 16_777_216)))).toMatchObject({
      fault: expect.stringContaining('16777216 × 16777216'),
    })
  })

  it('A338: an animated picture is not a logo', async () => {
    expect(await fetchHere(send(createWebp('VP8X', 8, 8, 2)))).toEqual({ fault: 'the logo is animated' })
  })

  it('A336: gives up on an answer without end', async () => {
    let sent = 0
    const fetched = await fetchHere((_request, answer) => {
      answer.writeHead(200)
      const pour = () => {
        while (!answer.destroyed && answer.write(' '.repeat(8192))) sent += 8192
      }
      answer.on('drain', pour)
      pour()
    })
    expect(fetched).toMatchObject({ fault: 'the logo is larger than 64 KiB' })
    expect(sent).toBeLessThan(16 * 1024 * 1024)
  })

  it.each([
    [
      'drips',
      ((_request, answer) => {
        answer.writeHead(200)
        const drip = setInterval(() => answer.write(' '), 10)
        answer.on('close', () => clearInterval(drip))
      }) as RequestListener,
    ],
    ['never comes', (() => {}) as RequestListener],
  ])('A336: gives up on an answer that %s', async (_name, listener) => {
    expect(await fetchHere(listener, { timeoutMs: 150 })).toMatchObject({
      fault: 'the logo could not be fetched',
    })
  })

  it('A336: accepts an answer that comes in pieces, as long as it ends in time', async () => {
    const bytes = createPng()
    const listener: RequestListener = (_request, answer) => {
      answer.writeHead(200).write(bytes.subarray(0, 9))
      setTimeout(() => answer.end(bytes.subarray(9)), 20)
    }
    expect(await fetchHere(listener)).toMatchObject({ bytes })
  })

  it('A335: follows no redirect, and asks the target nothing', async () => {
    const asked: (string | undefined)[] = []
    let start = ''
    const fetched = await fetchHere((request, answer) => {
      asked.push(request.url)
      start = `http://${request.headers.host}/logo.png`
      if (request.url === '/logo.png') answer.writeHead(302, { location: '/secret' }).end(createPng())
      else answer.end(createPng())
    })
    expect(fetched).toMatchObject({
      fault: 'the host answered, but not with a logo; redirects are not followed',
    })
    expect(asked).toEqual(['/logo.png'])
    // A client that follows it does ask the target.
    expect((await fetch(start)).status).toBe(200)
    expect(asked).toEqual(['/logo.png', '/logo.png', '/secret'])
  })
})

describe('where no logo is fetched from', () => {
  /** How often a client connected to a port of this machine while a logo was fetched from there. */
  async function knocks(options: Partial<FetchOptions>, host = 'issuer.test', scheme = 'https') {
    let connections = 0
    const port = await listen(
      createTcpServer((socket) => {
        connections++
        socket.destroy()
      }),
    )
    const fetched = await createLogos({ allowLoopback: false, portsAllowed: [port], ...options }).fetch(
      new URL(`${scheme}://${host}:${port}/logo.png`),
      'shop.example',
    )
    return { connections, fetched }
  }

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', '169.254.169.254', 'fd00:ec2::254'])(
    'A335: sends no packet when a name leads to %s',
    async (address) => {
      const { connections, fetched } = await knocks({ resolve: always(address) })
      expect(fetched).toMatchObject({
        fault: 'the logo could not be fetched',
        cause: expect.any(AddressForbidden),
      })
      expect(connections).toBe(0)
    },
  )

  it.each(['127.0.0.1', '10.0.0.1', '[::1]', '2130706433', '0x7f.1', 'localhost'])(
    'A335: sends no packet to %s itself',
    async (host) => {
      const over = [await knocks({}, host), await knocks({}, host, 'http')]
      expect(over.map(({ connections }) => connections)).toEqual([0, 0])
    },
  )

  it('A335: uses the address that was checked: a name that changes its mind is asked once', async () => {
    let asked = 0
    const rebinding = ((_name: string, _options: object, callback: (e: null, found: object[]) => void) => {
      asked++
      callback(null, [{ address: asked === 1 ? '10.0.0.1' : '127.0.0.1', family: 4 }])
    }) as unknown as typeof lookup
    const isPublic = (address: string) => address === '127.0.0.1'
    const { connections } = await knocks({ resolve: rebinding, isPublic })
    expect([asked, connections]).toEqual([1, 0])
  })

  it('does connect when the address is public, so that the tests above can fail', async () => {
    const { connections } = await knocks({ resolve: always('127.0.0.1'), isPublic: () => true })
    expect(connections).toBe(1)
  })

  it('A335: asks no other port, and not without TLS', async () => {
    const resolve = (() => {
      throw new Error('asked')
    }) as unknown as typeof lookup
    for (const url of ['https://a.example:6379/', 'http://a.example/', 'https://user:pw@a.example/'])
      expect(
        await createLogos({ allowLoopback: false, resolve }).fetch(new URL(url), 'shop.example'),
      ).toMatchObject({ fault: 'a logo is fetched over https, from port 443 or 8443 only' })
  })
})
