import { Agent, request as httpRequest } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import { CommandError, UsageError, type Verb } from '../command.ts'
import { resolveTarget } from '../service/connection.ts'
import { createLatencies, histogramText, type Latencies, msText } from '../terminal/histogram.ts'
import { barText, facts, type Terminal } from '../terminal/output.ts'

const BAR_WIDTH = 50

export const bench: Verb = {
  shares: ['credential', 'service'],
  options: [
    ['--path <path>', 'the path to request; default: /api/protected/action, with POST'],
    ['--request <method>', 'the method; default: POST for the protected route, otherwise GET'],
    ['--connections <n>', 'concurrent connections; default: 16'],
    ['--seconds <n>', 'duration; default: 5'],
    ['--elsewhere', 'allow a service on another machine, if its operator has agreed'],
  ],
  examples: [
    ['countersign bench', 'send the demo credential to the protected route for five seconds'],
    [
      'countersign bench --path /healthz --connections 64 --seconds 10',
      'measure the floor: this path makes no decision',
    ],
    ['countersign bench --bound', 'sign each request; then this program is slower than the service'],
  ],
  about: [
    'Each connection sends its next request when the last one is answered. The load and the service share this machine, so use the figures only to compare two runs. The exit code is 3 when any request was rejected.',
  ],
  async run(given, at) {
    const path = given.text('path') ?? '/api/protected/action'
    if (!path.startsWith('/')) throw new UsageError('--path must begin with /')
    const method = given.text('request') ?? (path === '/api/protected/action' ? 'POST' : 'GET')
    const connections = given.integer('connections', { min: 1, max: 1000 }) ?? 16
    const seconds = given.integer('seconds', { min: 1, max: 3600 }) ?? 5
    const target = await resolveTarget(given, at, 'anyone')
    const url = new URL(path, target.baseUrl)
    if (!/^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(url.hostname) && !given.has('elsewhere'))
      throw new UsageError(
        `${url.host} is not this machine, and unexpected load is an attack. Add --elsewhere if its operator has agreed.`,
      )
    const createHeaders = await loadPresentation(given, target.dev, method, url.href)
    const outcome = await load(url, method, createHeaders, { connections, seconds, at })
    const { latencies, statuses, elapsedMs, faults } = outcome
    if (latencies.count === 0)
      throw new CommandError(
        'no_answer',
        `No response from ${url.origin} (${faults[0] ?? 'no answer'}). Check that the service runs and that the address is right.`,
        5,
      )
    const perSecond = Math.round((latencies.count / elapsedMs) * 1000)
    const rejected = [...statuses]
      .filter(([status]) => status >= 400)
      .reduce((sum, [, count]) => sum + count, 0)
    const latency = {
      min: latencies.min,
      mean: latencies.mean,
      p50: latencies.quantile(0.5),
      p90: latencies.quantile(0.9),
      p99: latencies.quantile(0.99),
      max: latencies.max,
    }
    at.result(
      {
        url: url.href,
        connections,
        seconds: Math.round(elapsedMs) / 1000,
        requests: latencies.count,
        per_second: perSecond,
        refused: rejected,
        failed: faults.length,
        statuses: Object.fromEntries(statuses),
        latency_ms: Object.fromEntries(
          Object.entries(latency).map(([name, ms]) => [name, Math.round(ms * 1000) / 1000]),
        ),
        histogram: latencies
          .buckets()
          .map(({ msMax, count }) => ({ le_ms: Math.round(msMax * 1000) / 1000, count })),
      },
      () =>
        [
          histogramText(latencies, BAR_WIDTH),
          '',
          facts([
            ['requests', `${latencies.count}, ${perSecond} a second`],
            [
              'latency',
              Object.entries(latency)
                .map(([name, ms]) => `${name} ${msText(ms)}`)
                .join(', '),
            ],
            ['responses', [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')],
            ['failed', faults.length === 0 ? undefined : `${faults.length} (${faults[0]})`],
          ]),
        ].join('\n'),
    )
    if (faults.length > 0) return 1
    return rejected > 0 ? 3 : 0
  },
}

type CreateHeaders = () => Promise<Readonly<Record<string, string>>>

/**
 * The headers of each request: the same for all, or a new signature for each with a bound
 * credential. Without a credential, none.
 */
async function loadPresentation(
  given: Parameters<Verb['run']>[0],
  dev: unknown,
  method: string,
  url: string,
): Promise<CreateHeaders> {
  if (dev === undefined && given.text('credential') === undefined) return async () => ({})
  const [{ CREDENTIAL_HEADER, holderRequestFrom, signRequest }, { chooseCredential, requireKey }] =
    await Promise.all([import('@countersign/core'), import('../credential/read-credential.ts')])
  const { header, signed, holderKey } = await chooseCredential(given, dev as never)
  const own = { [CREDENTIAL_HEADER]: header }
  if (signed.credential.holderKey === undefined) return async () => own
  const key = requireKey(holderKey)
  return async () => ({
    ...own,
    ...(await signRequest(holderRequestFrom(method, url, new Headers(own), 'none'), {
      key,
      nowMs: Date.now(),
    })),
  })
}

interface LoadOptions {
  readonly connections: number
  readonly seconds: number
  readonly at: Terminal
}

interface Outcome {
  readonly latencies: Latencies
  readonly statuses: ReadonlyMap<number, number>
  readonly faults: readonly string[]
  readonly elapsedMs: number
}

const FAULTS_MAX = 1000

async function load(
  url: URL,
  method: string,
  createHeaders: CreateHeaders,
  { connections, seconds, at }: LoadOptions,
): Promise<Outcome> {
  const [send, agent] =
    url.protocol === 'https:'
      ? [httpsRequest, new SecureAgent({ keepAlive: true, maxSockets: connections })]
      : [httpRequest, new Agent({ keepAlive: true, maxSockets: connections })]
  const latencies = createLatencies()
  const statuses = new Map<number, number>()
  const faults: string[] = []
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  const once = (headers: Readonly<Record<string, string>>) =>
    new Promise<number>((resolve, reject) => {
      const request = send(url, { method, headers, agent }, (response) => {
        response.on('end', () => resolve(response.statusCode ?? 0)).on('error', reject)
        response.resume()
      })
      request.on('error', reject)
      request.end()
    })
  const work = async () => {
    while (performance.now() < endMs && faults.length < FAULTS_MAX) {
      try {
        const headers = await createHeaders()
        const sentMs = performance.now()
        const status = await once(headers)
        latencies.add(performance.now() - sentMs)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      } catch (fault) {
        faults.push((fault as NodeJS.ErrnoException).code ?? 'no answer')
        if (latencies.count === 0) return
      }
    }
  }
  const drawing = setInterval(() => {
    const done = Math.min((performance.now() - startMs) / (seconds * 1000), 1)
    at.progress(
      `${barText(done)} ${latencies.count} requests, p50 ${msText(latencies.quantile(0.5))}, p99 ${msText(latencies.quantile(0.99))}`,
    )
  }, 100)
  try {
    await Promise.all(Array.from({ length: connections }, work))
  } finally {
    clearInterval(drawing)
    at.progress(undefined)
    agent.destroy()
  }
  return { latencies, statuses, faults, elapsedMs: performance.now() - startMs }
}
