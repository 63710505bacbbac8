import type { ViewProblem } from '../feed/log-follower.ts'
import { requireOptions } from '../shared/require-options.ts'

export interface ReadyOptions {
  /** How long to wait at most, in milliseconds. Default: as long as it takes. */
  readonly timeoutMs?: number
}

/**
 * The guard could not begin to decide in time. The message says why, and whether waiting longer can
 * help.
 */
export class GuardNotReady extends Error {
  override readonly name = 'GuardNotReady'
  /** What prevents the guard from following the log; undefined when nothing has failed yet. */
  readonly problem: ViewProblem | undefined
  /**
   * False for faults that only an operator can correct: a wrong API key, site, address,
   * certificate, clock or pin, or a log that does not continue.
   */
  readonly retryable: boolean

  constructor(siteId: string, timeoutMs: number, problem: ViewProblem | undefined) {
    const why =
      problem === undefined ? 'the service has not answered yet' : `${problem.code}: ${problem.detail}`
    const retryable = problem === undefined || !isLasting(problem)
    super(
      `the guard of ${siteId} was not ready within ${timeoutMs} ms: ${why.replace(/\.$/, '')}${retryable ? '' : '. Waiting does not correct this.'}`,
    )
    this.problem = problem
    this.retryable = retryable
  }
}

/** Throws a TypeError for anything but a number of milliseconds from 0. */
export function readReadyOptions(options: unknown): ReadyOptions {
  requireOptions<ReadyOptions>('ready', options, { timeoutMs: 'number' })
  if (options.timeoutMs !== undefined && !(options.timeoutMs >= 0))
    throw new TypeError('timeoutMs must be from 0')
  return options
}

const LASTING_CODES: ReadonlySet<string> = new Set([
  'api_key_missing',
  'api_key_invalid',
  'api_key_forbidden',
  'not_found',
  'answer_unknown',
  'snapshot_unsigned',
  'heartbeat_unsigned',
  'clock_ahead',
  'clock_behind',
  'feed_key_untrusted',
  'feed_key_withdrawn',
  'feed_keys_unreadable',
  'fork',
  'epoch_unlinked',
])
/** Node, Bun and Deno name their TLS faults differently. */
const LASTING_CAUSE = /certificate|self.signed|ERR_TLS|ERR_SSL|ENOTFOUND|name not known/i

function isLasting({ code, detail }: ViewProblem): boolean {
  return LASTING_CODES.has(code) || LASTING_CAUSE.test(detail)
}
