import { randomUUID } from 'node:crypto'
import { isLoopbackHost } from '@countersign/core'
import type { Target } from '../service/connection.ts'
import { type Finding, ok, problem, skipped, warning } from './finding.ts'

const ANSWER_MS_MAX = 5000
/** Signatures and heartbeats from further in the future are rejected. */
const SKEW_MS_MAX = 10_000
const SKEW_MS_NOTED = 3000
/** The longest credential header of the contract. */
const CREDENTIAL_HEADER_CHARS = 8192

/** Sends a request to the service, through all proxies. Rejects when there is no response. */
export function ask({ baseUrl }: Target, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(baseUrl + path, { ...init, redirect: 'manual', signal: AbortSignal.timeout(ANSWER_MS_MAX) })
}

/** Checks that a Countersign service responds. If not, the other checks are left out. */
export async function checkReach(
  target: Target,
): Promise<{ readonly findings: readonly Finding[]; readonly isReached: boolean }> {
  const sentMs = Date.now()
  const response = await ask(target, '/healthz').catch((fault: unknown) => fault as Error)
  if (response instanceof Error) {
    const fix =
      'Check that the service runs, then the address, the DNS, the firewall and the proxy in front of it.'
    return {
      findings: [
        problem('reach', `There is no response from ${target.baseUrl} (${describeReason(response)}).`, fix),
      ],
      isReached: false,
    }
  }
  const tookMs = Date.now() - sentMs
  const body = (await response.json().catch(() => undefined)) as { status?: unknown } | undefined
  if (response.status !== 200 || body?.status !== 'alive') {
    const fix = 'Check the address. A proxy may answer in place of the service.'
    return {
      findings: [
        problem('reach', `Another program answers at ${target.baseUrl} (status ${response.status}).`, fix),
      ],
      isReached: false,
    }
  }
  const version = response.headers.get('service-version')
  return {
    isReached: true,
    findings: [
      ok(
        'reach',
        `The service answers in ${tookMs} ms${version === null ? '' : `. Its version is ${version}`}.`,
      ),
      checkClock(response, sentMs, tookMs),
      checkTls(target),
    ],
  }
}

function describeReason(fault: Error): string {
  for (let at: unknown = fault; at instanceof Error; at = at.cause)
    if ('code' in at && typeof at.code === 'string') return at.code
  return fault.name === 'TimeoutError' ? `no response within ${ANSWER_MS_MAX / 1000} s` : fault.message
}

/** The `Date` of a response has whole seconds, and was written between sending and receiving. */
function checkClock({ headers }: Response, sentMs: number, tookMs: number): Finding {
  const theirsMs = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(theirsMs)) return skipped('clock', 'The response has no Date header.')
  const aheadMs = theirsMs + 500 - (sentMs + tookMs / 2)
  const apartMs = Math.abs(aheadMs)
  const surelyMs = Math.max(apartMs - tookMs / 2 - 500, 0)
  const [there, here] = aheadMs > 0 ? ['ahead', 'behind'] : ['behind', 'ahead']
  const words = `The clock of the service is ${there} by ${(apartMs / 1000).toFixed(1)} s, or this one is ${here}.`
  if (surelyMs > SKEW_MS_MAX)
    return problem(
      'clock',
      `${words} Signatures from this machine are rejected, and views appear stale.`,
      'Synchronise both clocks with NTP (chrony, systemd-timesyncd).',
    )
  if (surelyMs > SKEW_MS_NOTED)
    return warning('clock', words, 'Synchronise both clocks with NTP before the difference exceeds 10 s.')
  return ok('clock', 'This clock agrees with the clock of the service.')
}

/** Whether what is sent to this address goes over plain http to another machine. */
export function isPlainToOthers(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl)
  return protocol === 'http:' && !isLoopbackHost(hostname)
}

function checkTls({ baseUrl }: Target): Finding {
  if (baseUrl.startsWith('https:')) return ok('tls', 'The connection is encrypted.')
  if (!isPlainToOthers(baseUrl)) return ok('tls', 'TLS is not needed on this machine.')
  return problem(
    'tls',
    'The address is plain http: anyone on the network path can read every key and credential.',
    'Put a proxy with TLS in front of the service.',
  )
}

/** Checks the store and the freshness of the view, as `/readyz` reports them. */
export async function checkReady(target: Target): Promise<Finding> {
  const response = await ask(target, '/readyz')
  if (response.status === 200) return ok('ready', 'The store is reachable, and the view of the log is fresh.')
  const fix =
    'Read the log of the service, which gives the reason. Check its database, its clock (countersign reset-time) and its revocation log (countersign audit-log).'
  return problem(
    'ready',
    `The service is not ready (status ${response.status}). Its store cannot be reached, its view is stale, or its clock is wrong.`,
    fix,
  )
}

/** Checks that `base_url` of the service is this address: holder proofs depend on it. */
export async function checkAddress(target: Target): Promise<Finding> {
  const response = await ask(target, '/.well-known/countersign')
  const body = (await response.json().catch(() => undefined)) as { base_url?: unknown } | undefined
  if (body?.base_url === target.baseUrl) return ok('address', 'This address is the base_url of the service.')
  const said = typeof body?.base_url === 'string' ? body.base_url : 'nothing readable'
  const fix =
    'Use that address, or set base_url to the one that clients use: holder proofs are checked against it.'
  return warning('address', `The base_url of the service is ${said}.`, fix)
}

/** Checks whether proxies remove or replace headers. */
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
        `Responses lack ${lost.join(' and ')}.`,
        'Configure the proxy to keep these response headers.',
      ),
    )
  else if (echoed !== id)
    findings.push(
      warning(
        'headers',
        'A proxy replaces the request id.',
        'Configure the proxy to forward X-Request-Id, so that its log can be matched with that of the service.',
      ),
    )

  return [...findings, await checkLongCredential(target)]
}

/**
 * Sends a credential of the longest allowed length to the reference route, or to forward-auth if
 * the service has no reference route and there is a key.
 */
async function checkLongCredential(target: Target): Promise<Finding> {
  const credential = { 'x-service-credential': 'A'.repeat(CREDENTIAL_HEADER_CHARS) }
  let response = await ask(target, '/api/protected/action', { method: 'POST', headers: credential })
  let code = await readProblemCode(response)
  if (code === 'not_found' && target.apiKey !== undefined) {
    response = await ask(target, '/api/auth/verify', {
      headers: { ...credential, 'x-api-key': target.apiKey },
    })
    code = await readProblemCode(response)
  }
  if (code === 'credential_malformed')
    return ok('headers', `A credential of ${CREDENTIAL_HEADER_CHARS} characters arrives.`)
  if (code === 'credential_missing')
    return problem(
      'headers',
      'The header X-Service-Credential does not arrive.',
      'Configure the proxy to forward it.',
    )
  if (code === 'not_found' || code?.startsWith('api_key_'))
    return skipped('headers', 'Trying a long credential needs a key of a site with tokens:introspect.')
  const fix =
    'Allow headers of 16 KiB. nginx: large_client_header_buffers 4 16k. HAProxy: tune.bufsize 32768. Apache: LimitRequestFieldSize 16384.'
  return problem(
    'headers',
    `A credential of ${CREDENTIAL_HEADER_CHARS} characters does not arrive (status ${response.status}).`,
    fix,
  )
}

async function readProblemCode(response: Response): Promise<string | undefined> {
  const body = (await response.json().catch(() => undefined)) as { code?: unknown } | undefined
  return typeof body?.code === 'string' ? body.code : undefined
}
