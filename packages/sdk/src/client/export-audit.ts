import type { auditFormats, auditOrders, auditOutcomes } from '@countersign/core/contract'
import { describeAddress, describeCause } from '../shared/cause.ts'
import { type ClientOptions, readConnection } from './connection.ts'
import { CountersignError } from './countersign-error.ts'
import { readDenial } from './read-denial.ts'

export interface AuditExport {
  /** Undefined: all sites and the service itself, which needs an operator key. */
  readonly site_id?: string
  /** One JSON object per line; CSV; or one OCSF event per line. */
  readonly format: Exclude<(typeof auditFormats)[number], 'json'>
  readonly actor?: string
  readonly action?: string
  readonly target?: string
  readonly outcome?: (typeof auditOutcomes)[number]
  readonly request_id?: string
  readonly from?: string
  readonly to?: string
  readonly order?: (typeof auditOrders)[number]
  /** Begins after the row with this audit_id. */
  readonly after?: string
  /** The maximum number of rows. */
  readonly rows?: number
  /** Only without site_id. */
  readonly without_site?: '1'
  readonly signal?: AbortSignal
}

/**
 * Streams rows of the audit as bytes, in the format that was asked for. Throws a `CountersignError`
 * when the service rejects the call, cannot be reached, or ends the response early. Retries
 * nothing: to go on, pass the last audit_id as `after`.
 */
export async function* exportAudit(
  options: ClientOptions,
  { site_id, signal, ...query }: AuditExport,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { baseUrl, apiKey, fetch = globalThis.fetch } = readConnection(options)
  const path = site_id === undefined ? '/api/audit' : `/api/sites/${encodeURIComponent(site_id)}/audit`
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value))
  const url = `${baseUrl}${path}?${parameters}`
  try {
    const response = await fetch(url, {
      headers: apiKey === undefined ? {} : { 'x-api-key': apiKey },
      redirect: 'manual',
      ...(signal && { signal }),
    })
    if (response.status !== 200 || response.body === null) throw await toError(response, url)
    yield* response.body as AsyncIterable<Uint8Array>
  } catch (error) {
    if (error instanceof CountersignError) throw error
    if (signal?.aborted) throw signal.reason
    const detail = `The export from ${describeAddress(url)} was interrupted: ${describeCause(error)}`
    throw new CountersignError('no_answer', detail, { retryable: true, cause: error })
  }
}

async function toError(response: Response, url: string): Promise<CountersignError> {
  const denial = await readDenial(response)
  if (denial !== undefined) return new CountersignError(denial.code, denial.detail, { denial })
  const { status } = response
  const detail = `The response from ${describeAddress(url)} has status ${status} and does not come from this service. Check baseUrl.`
  return new CountersignError('answer_unknown', detail, { status, retryable: status >= 500 })
}
