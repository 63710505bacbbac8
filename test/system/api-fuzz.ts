import { Agent, type IncomingHttpHeaders, request as sendRequest } from 'node:http'
import { endpointList } from '@countersign/core/contract'
import { bodies, queries } from '../../packages/core/src/contract/examples.ts'
import { createRandom, type Random } from '../../packages/core/test/fuzz/random.ts'
import type { SeenAnswer } from '../../packages/service/test/contract-check.ts'

/** Callers and values to begin with. */
export interface FuzzWorld {
  readonly url: string
  /** A caller is the headers that it sends. */
  readonly callers: readonly Readonly<Record<string, string>>[]
  /** Values of members and parameters by their names. What answers contain is added. */
  readonly known: Readonly<Record<string, readonly unknown[]>>
  /** Never learned from an answer, so that callers keep their keys and sessions. */
  readonly kept: ReadonlySet<unknown>
}

export interface FuzzAnswer extends SeenAnswer {
  readonly body: string | undefined
}

type Endpoint = (typeof endpointList)[number]

const KNOWN_MAX = 40
/** An answer that does not end is a stream. */
const ANSWER_CHARS_MAX = 5_000_000
const STREAMS: readonly string[] = ['feed']

/** Members of answers that are sent under another name. */
const ALIASES: Readonly<Record<string, string>> = { access_token: 'token' }
/** They change or end what other requests need. */
const ENDS: ReadonlySet<string> = new Set(['change_site', 'change_issuer', 'change_issuer_key', 'erase_user'])

/** Without the one that would sign out the person who calls. */
const ENDPOINTS = endpointList.filter(({ id }) => id !== 'end_session')

const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\u202e',
  'é',
  '%00',
  '%ff',
  '..',
  '../..',
  '__proto__',
  'constructor',
  "'; --",
  'x'.repeat(300),
  'x'.repeat(5000),
  [],
  {},
  [[]],
  [null],
  { __proto__: null, toString: 1 },
]

/**
 * Sends random requests to every endpoint: examples of the contract with known values, and then
 * with faults in them. The same seed gives the same choices.
 */
export class ApiFuzz {
  readonly #world: FuzzWorld
  readonly #random: Random
  readonly #known = new Map<string, unknown[]>()
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 })

  constructor(world: FuzzWorld, seed: number) {
    this.#world = world
    this.#random = createRandom(seed)
    for (const [name, values] of Object.entries(world.known)) this.#known.set(name, [...values])
  }

  async next(): Promise<FuzzAnswer> {
    const endpoint = this.#pickEndpoint()
    const { method } = endpoint
    const path = this.#makePath(endpoint) + this.#makeQuery(endpoint)
    const { text, type } = this.#makeBody(endpoint)
    const headers: Record<string, string> = {
      ...this.#random.pick(this.#world.callers),
      ...(text === undefined
        ? {}
        : { 'content-type': type, 'content-length': String(Buffer.byteLength(text)) }),
      ...this.#makeHeaders(endpoint),
    }
    const answer = await this.#send(endpoint, path, headers, text)
    this.#learn(answer)
    return { ...answer, method, path, body: text }
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Endpoints that end access are rarer: little would be left to use. */
  #pickEndpoint(): Endpoint {
    const endpoint = this.#random.pick(ENDPOINTS)
    const ends = 'revokes' in endpoint || ENDS.has(endpoint.id)
    return ends && !this.#random.oneIn(8) ? this.#pickEndpoint() : endpoint
  }

  #makePath({ path }: Endpoint): string {
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = this.#random.oneIn(8) ? this.#random.pick(ODD) : this.#findKnown(name, 'unknown-1')
      const text = toText(value)
      return this.#random.oneIn(60) ? encodeURI(text).replaceAll(/[?#]/g, '') : encodeURIComponent(text)
    })
  }

  #makeQuery(endpoint: Endpoint): string {
    const example = queries[endpoint.id]
    const pairs: [string, string][] = []
    for (const [name, value] of Object.entries(example ?? {}))
      if (this.#random.oneIn(3)) pairs.push([name, toText(this.#change(name, [value].flat()[0]))])
    if (this.#random.oneIn(30)) pairs.push([toText(this.#random.pick(ODD)), 'x'])
    if (this.#random.oneIn(30) && pairs[0] !== undefined) pairs.push(pairs[0])
    const query = pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
    return query === '' ? '' : `?${query}`
  }

  #makeBody(endpoint: Endpoint): { readonly text: string | undefined; readonly type: string } {
    const random = this.#random
    const [type = 'application/json'] = random.oneIn(5)
      ? [random.pick(['text/plain', ...endpoint.bodyTypes])]
      : endpoint.bodyTypes
    const example = bodies[endpoint.id]
    if (example === undefined && !random.oneIn(10)) return { text: undefined, type }
    const copy = this.#fill(example ?? {}) as Record<string, unknown>
    if (random.oneIn(2)) this.#mutate(copy)
    if (type === 'application/x-www-form-urlencoded') {
      const form = new URLSearchParams()
      for (const [name, value] of Object.entries(copy)) form.append(name, toText(value))
      return { text: form.toString(), type }
    }
    let text = JSON.stringify(copy)
    if (random.oneIn(25)) text = text.slice(0, random.int(text.length))
    if (random.oneIn(40)) text = text.replace('{', '{"reason":"twice",')
    return { text, type }
  }

  #makeHeaders({ auth }: Endpoint): Record<string, string> {
    const random = this.#random
    const headers: Record<string, string> = {}
    if (random.oneIn(6)) headers['idempotency-key'] = random.pick(['k1', 'k2', 'a b', 'x'.repeat(300), 'é'])
    if (random.oneIn(12)) headers.accept = random.pick(['text/html', '*/*', 'application/json', 'image/png'])
    if (random.oneIn(12)) headers.prefer = random.pick(['wait=0', 'wait=-1', 'wait=x', 'respond-async'])
    if (random.oneIn(auth.includes('credential') ? 2 : 12))
      headers['x-service-credential'] = toText(this.#findKnown('header', 'e30'))
    if (random.oneIn(15)) headers.authorization = `Bearer ${toText(this.#findKnown('token', 'x'))}`
    if (random.oneIn(20)) headers['last-event-id'] = random.pick(['x', '0', 'abcdefgh.1', 'abcdefgh.-1'])
    if (random.oneIn(20)) headers['x-verifier-id'] = random.pick(['orders-api', 'a b', '', 'é'])
    if (random.oneIn(20)) headers['x-request-id'] = random.pick(['r1', 'a b', 'x'.repeat(200)])
    if (random.oneIn(20)) headers['accept-language'] = random.pick(['ar', '*', 'xx-YY;q=2', ',,,'])
    if (random.oneIn(30)) headers['x-forwarded-for'] = random.pick(['1.2.3.4', '::1', 'x, y', ''])
    return headers
  }

  /** A copy with known values in place of those of the example. */
  #fill(value: unknown, name = ''): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#fill(item, name))
    if (typeof value === 'object' && value !== null && !this.#known.has(name))
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#fill(item, key)]))
    return this.#random.oneIn(10) ? value : this.#findKnown(name, value)
  }

  #mutate(object: Record<string, unknown>): void {
    const names = Object.keys(object)
    const name = names.length === 0 ? 'reason' : this.#random.pick(names)
    const value = object[name]
    const random = this.#random
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && !random.oneIn(3)) {
      this.#mutate(value as Record<string, unknown>)
      return
    }
    switch (random.int(6)) {
      case 0:
        delete object[name]
        break
      case 1:
        object[random.pick(['__proto__', 'extra', 'toString', 'reason'])] = 1
        break
      case 2:
        object[name] = Array.from({ length: random.pick([0, 2, 101, 1001]) }, () => value)
        break
      default:
        object[name] = Array.isArray(value) ? [...value, random.pick(ODD)] : random.pick(ODD)
    }
  }

  #change(name: string, value: unknown): unknown {
    return this.#random.oneIn(4) ? this.#random.pick(ODD) : this.#findKnown(name, value)
  }

  #findKnown(name: string, otherwise: unknown): unknown {
    const values = this.#known.get(name)
    return values === undefined || values.length === 0 ? otherwise : this.#random.pick(values)
  }

  #learn({ text, status }: Pick<FuzzAnswer, 'text' | 'status'>): void {
    if (status >= 300 || !text.startsWith('{')) return
    let answer: unknown
    try {
      answer = JSON.parse(text)
    } catch {
      return
    }
    const visit = (value: unknown, name: string) => {
      if (Array.isArray(value)) for (const item of value.slice(0, 3)) visit(item, name)
      else if (typeof value === 'object' && value !== null) {
        if (name === 'credential') this.#addKnown(name, value)
        for (const [key, item] of Object.entries(value)) visit(item, key)
      } else if (value !== null && name !== 'secret' && name !== 'api_key')
        this.#addKnown(ALIASES[name] ?? name, value)
    }
    visit(answer, '')
  }

  #addKnown(name: string, value: unknown): void {
    const values = this.#known.get(name) ?? []
    this.#known.set(name, values)
    if (values.includes(value) || this.#world.kept.has(value)) return
    if (values.length < KNOWN_MAX) values.push(value)
    else values[this.#random.int(KNOWN_MAX)] = value
  }

  #send(
    { id, method }: Endpoint,
    path: string,
    headers: Record<string, string>,
    body: string | undefined,
  ): Promise<Pick<FuzzAnswer, 'status' | 'headers' | 'text'>> {
    const { hostname, port } = new URL(this.#world.url)
    return new Promise((resolve, reject) => {
      const request = sendRequest({
        hostname,
        port,
        method,
        path,
        headers: toLatin1(headers),
        agent: this.#agent,
      })
      request.once('error', reject)
      request.once('response', (response) => {
        const pieces: Buffer[] = []
        let length = 0
        const end = () => {
          const text = Buffer.concat(pieces).toString('utf8')
          const { statusCode = 0 } = response
          resolve({ status: statusCode, headers: response.headers as IncomingHttpHeaders, text })
        }
        response.once('end', end)
        response.once('error', () => {})
        response.on('data', (piece: Buffer) => {
          pieces.push(piece)
          length += piece.length
          if (length < ANSWER_CHARS_MAX && !(STREAMS.includes(id) && response.statusCode === 200)) return
          end()
          request.destroy()
        })
      })
      request.end(body)
    })
  }
}

function toText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.toWellFormed()
}

function toLatin1(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  )
}
