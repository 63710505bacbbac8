import { randomUUID } from 'node:crypto'
import { type Finding, ok, problem, skipped, warning } from './finding.ts'

/** What a check of the service over HTTP may use. */
export interface Target {
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly siteId: string | undefined
}

const ANSWER_MS_MAX = 5000
/** Signatures and heartbeats from further ahead than this are refused. */
const SKEW_MS_MAX = 10_000
const SKEW_MS_NOTED = 3000
/** What the contract lets a credential take. */
const CREDENTIAL_HEADER_CHARS = 8192

/**
 * Sends a request through whatever stands between here and the service. Rejects when there is no
 * answer.
 */
export function ask({ baseUrl }: Target, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(baseUrl + path, { ...init, redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS_MAX) })
}

/** Whether it is there and is one of ours. When not, there is no use in asking for more. */
export async function checkReach(
  target: Target,
): Promise<{ readonly findings: readonly Finding[]; readonly isReached: boolean }> {
  const sentMs = Date.now()
  const response = await ask(target, '/healthz').catch((fault: unknown) => fault as Error)
  if (response instanceof Error) {
    const fix =
      'Is the service running? Look at the address, the name server, the firewall and the proxy in front'
    return {
      findings: [problem('reach', `nothing answers at ${target.baseUrl} (${describeReason(response)})`, fix)],
      isReached: false,
    }
  }
  const tookMs = Date.now() - sentMs
  const body = (await response.json().catch(() => undefined)) as { status?: unknown } | undefined
  if (response.status !== 200 || body?.status !== 'alive') {
    const fix = 'The address is that of something else, or a proxy answers in its place'
    return {
      findings: [
        problem(
          'reach',
          `what answers at ${target.baseUrl} is not the service (status ${response.status})`,
          fix,
        ),
      ],
      isReached: false,
    }
  }
  const version = response.headers.get('service-version')
  return {
    isReached: true,
    findings: [
      ok('reach', `answers in ${tookMs} ms${version === null ? '' : `, version ${version}`}`),
      checkClock(response, sentMs, tookMs),
      checkTls(target),
    ],
  }
}

function describeReason(fault: Error): string {
  for (let at: unknown = fault; at instanceof Error; at = at.cause)
    if ('code' in at && typeof at.code === 'string') return at.code
  return fault.name === 'TimeoutError' ? `nothing within ${ANSWER_MS_MAX / 1000} s` : fault.message
}

/**
 * The date of an answer is cut to the second, and was written somewhere between sending and
 * receiving.
 */
function checkClock({ headers }: Response, sentMs: number, tookMs: number): Finding {
  const theirsMs = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(theirsMs)) return skipped('clock', 'the answer has no Date')
  const aheadMs = theirsMs + 500 - (sentMs + tookMs / 2)
  const apartMs = Math.abs(aheadMs)
  const surelyMs = Math.max(apartMs - tookMs / 2 - 500, 0)
  const [there, here] = aheadMs > 0 ? ['ahead', 'behind'] : ['behind', 'ahead']
  const words = `the clock of the service is ${there} by ${(apartMs / 1000).toFixed(1)} s, or this one is ${here}`
  if (surelyMs > SKEW_MS_MAX)
    return problem(
      'clock',
      `${words}: signatures made here are refused, and views are taken for stale`,
      'Set both clocks by NTP (chrony, systemd-timesyncd)',
    )
  if (surelyMs > SKEW_MS_NOTED)
    return warning('clock', words, 'Set both clocks by NTP before it becomes more than 10 s')
  return ok('clock', 'agrees with that of the service')
}

function checkTls({ baseUrl }: Target): Finding {
  if (baseUrl.startsWith('https:')) return ok('tls', 'encrypted')
  const isHere = /^http:\/\/(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)(?::|$)/.test(baseUrl)
  if (isHere) return ok('tls', 'not needed on this machine')
  return problem(
    'tls',
    'plain http: anyone on the network path can read every key and credential',
    'Put a proxy with TLS in front',
  )
}

/**
 * The store behind it, and how fresh what it knows is: the service itself says whether it is ready.
 */
export async function checkReady(target: Target): Promise<Finding> {
  const response = await ask(target, '/readyz')
  if (response.status === 200) return ok('ready', 'its store is reachable and its view of the log is fresh')
  const fix =
    'Look at the log of the service, which says why; at its database; at the clocks (countersign reset-time); at the log of revocations (countersign audit-log)'
  return problem(
    'ready',
    `not ready (status ${response.status}): its store cannot be reached, its view is stale, or its clock is not believed`,
    fix,
  )
}

/**
 * Under which address the service believes to be reached: names and holder proofs are made of it.
 */
export async function checkAddress(target: Target): Promise<Finding> {
  const response = await ask(target, '/.well-known/countersign')
  const body = (await response.json().catch(() => undefined)) as { base_url?: unknown } | undefined
  if (body?.base_url === target.baseUrl) return ok('address', 'the one that the service calls itself by')
  const said = typeof body?.base_url === 'string' ? body.base_url : 'nothing readable'
  const fix =
    'Call it at that address, or set base_url to the one that clients use: holder proofs are checked against it'
  return warning('address', `the service calls itself ${said}`, fix)
}

/** What proxies do to headers on the way in and out. */
export async function checkHeaders(target: Target): Promise<readonly Finding[]> {
  const id = `doctor-${randomUUID()}`
  const plain = await ask(target, '/.well-known/countersign', { headers: { 'x-request-id': id } })
  const echoed = plain.headers.get('x-request-id')
  const lost = ['x-request-id', 'service-version'].filter((name) => !plain.headers.has(name))
  const findings: Finding[] = []
  if (lost.length > 0)
    findings.push(
      warning(
        'headers',
        `answers come without ${lost.join(' and ')}`,
        'The proxy in front removes headers of answers: pass them on',
      ),
    )
  else if (echoed !== id)
    findings.push(
      warning(
        'headers',
        'the request id that was sent is replaced on the way',
        'Let the proxy pass X-Request-Id on, so that its log and that of the service fit together',
      ),
    )

  return [...findings, await checkLongCredential(target)]
}

/**
 * The reference route looks at credentials, where the service has one; with a key of a site, so
 * does forward-auth on every service.
 */
async function checkLongCredential(target: Target): Promise<Finding> {
  const credential = { 'x-service-credential': 'A'.repeat(CREDENTIAL_HEADER_CHARS) }
  let response = await ask(target, '/api/protected/action', { method: 'POST', headers: credential })
  let code = await findSystemCode(response)
  if (code === 'not_found' && target.apiKey !== undefined) {
    response = await ask(target, '/api/auth/verify', {
      headers: { ...credential, 'x-api-key': target.apiKey },
    })
    code = await findSystemCode(response)
  }
  if (code === 'credential_malformed')
    return ok('headers', `a credential of ${CREDENTIAL_HEADER_CHARS} characters gets through`)
  if (code === 'credential_missing')
    return problem(
      'headers',
      'the header X-Service-Credential does not arrive',
      'The proxy in front drops it: let it pass on',
    )
  if (code === 'not_found' || code?.startsWith('api_key_'))
    return skipped(
      'headers',
      'no route to try a long credential on: give a key of a site with tokens:introspect',
    )
  const fix =
    'Let headers of 16 KiB through: nginx large_client_header_buffers 4 16k; HAProxy tune.bufsize 32768; Apache LimitRequestFieldSize 16384'
  return problem(
    'headers',
    `a credential of ${CREDENTIAL_HEADER_CHARS} characters does not get through (status ${response.status})`,
    fix,
  )
}

async function findSystemCode(response: Response): Promise<string | undefined> {
  const body = (await response.json().catch(() => undefined)) as { code?: unknown } | undefined
  return typeof body?.code === 'string' ? body.code : undefined
}
