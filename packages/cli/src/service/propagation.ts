import type { CallOptions, Client } from '@countersign/sdk'
import { type ExitCode, type Given, UsageError } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { describeError } from '../terminal/describe-error.ts'
import { facts, type Terminal, visible } from '../terminal/output.ts'
import type { Holder } from './holder.ts'

/** Which verifiers of the site have applied a log entry. */
interface Propagation {
  readonly connected: number
  readonly acknowledged: number
  readonly expected: number
  readonly elapsed_ms: number
  readonly committed_at: string
  readonly denied_everywhere_at: string | null
  readonly laggards: readonly (Named & { readonly seq: number })[]
  readonly verifiers: readonly (Named & {
    readonly state: string
    readonly seq: number
    readonly rejects_from: string | null
  })[]
  readonly exceptions: readonly Named[]
}

interface Named {
  readonly verifier_id: string
  readonly instance_id: string | null
}

/** The members of the response to a revocation that are shown here. */
export interface Revoked {
  readonly credential_ids: readonly string[]
  readonly already_revoked: boolean
  readonly revoked_at: string
  readonly tokens_revoked: number
  readonly epoch: string
  readonly seq: number
  readonly propagation?: Propagation | undefined
}

export const WAIT_SECONDS_MAX = 30
const LOOK_MS = 50

/** `--wait` without a number waits for the longest time that the service allows. */
export function parseWaitSeconds(given: Given): number | undefined {
  const text = given.text('wait') as string | true | undefined
  if (text === undefined) return undefined
  if (text === true) return WAIT_SECONDS_MAX
  if (/^\d{1,2}$/.test(text) && Number(text) <= WAIT_SECONDS_MAX) return Number(text)
  throw new UsageError(`--wait must be seconds from 0 to ${WAIT_SECONDS_MAX}`)
}

/**
 * The options of a revocation. A holder without an API key cannot read the receipt, so the service
 * waits on the holder's behalf.
 */
export function toCallOptions(own: Holder | undefined, waitSeconds: number | undefined): CallOptions {
  return own === undefined ? {} : { ...own.options, ...omitUndefined({ waitSeconds }) }
}

interface Wait {
  readonly site_id: string
  readonly waitSeconds: number | undefined
  readonly own: Holder | undefined
  readonly at: Terminal
}

/**
 * Adds the receipt to a revocation if the caller wants to wait, and draws the progress. When the
 * receipt cannot be read, the revocation still has succeeded, and the note says so.
 */
export async function withReceipt<Answer extends Revoked>(
  client: Pick<Client, 'propagationReceipt'>,
  done: Answer,
  { site_id, waitSeconds, own, at }: Wait,
): Promise<Answer> {
  if (own !== undefined || waitSeconds === undefined) return done
  try {
    return {
      ...done,
      propagation: await watchPropagation(client, { site_id, seq: done.seq }, waitSeconds, at),
    }
  } catch (fault) {
    at.progress(undefined)
    at.note(`The revocation is in force, but its receipt could not be read: ${describeError(fault).lines[0]}`)
    return done
  }
}

/**
 * Reads the receipt until every connected verifier that is not silent has acknowledged the entry,
 * or the time is over. Returns the last one.
 */
async function watchPropagation(
  client: Pick<Client, 'propagationReceipt'>,
  { site_id, seq }: { readonly site_id: string; readonly seq: number },
  waitSeconds: number,
  at: Terminal,
): Promise<Propagation> {
  const endMs = performance.now() + waitSeconds * 1000
  for (;;) {
    const { epoch: _, seq: __, ...receipt } = await client.propagationReceipt({ site_id, seq })
    at.progress(
      `${receipt.acknowledged} of ${receipt.connected} verifiers, ${Math.round(receipt.elapsed_ms)} ms`,
    )
    const isAwaited = receipt.verifiers.some(({ state }) => state === 'waiting')
    if (!isAwaited || performance.now() >= endMs) {
      at.progress(undefined)
      return receipt
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** Describes what was revoked, with the receipt if there is one. */
export function revokedText(what: string, revoked: Revoked): string {
  const { already_revoked, credential_ids, tokens_revoked, revoked_at, epoch, seq, propagation } = revoked
  return facts([
    [already_revoked ? 'revoked before' : 'revoked', what],
    ['at', revoked_at],
    [
      'credentials',
      credential_ids.length === 0 ? 'none known; unknown ones are rejected too' : credential_ids,
    ],
    ['tokens', tokens_revoked],
    ['log', `${epoch}.${seq}`],
    ['applied by', propagation && receiptText(propagation)],
    ...(propagation === undefined ? [] : missingFacts(propagation)),
    ['denied everywhere', propagation && deniedText(propagation)],
  ])
}

function receiptText({ connected, acknowledged, elapsed_ms }: Propagation): string {
  if (connected === 0) return 'no verifier is connected'
  return `${acknowledged} of ${connected} verifiers, ${Math.round(elapsed_ms)} ms`
}

/** One line for each verifier that has not acknowledged. */
function missingFacts({ verifiers }: Propagation): [string, string][] {
  return verifiers
    .filter(({ state }) => state !== 'acknowledged')
    .map((verifier) => [STATES[verifier.state] ?? verifier.state, missingText(verifier)])
}

const STATES: Readonly<Record<string, string>> = {
  waiting: 'waiting for',
  silent: 'silent',
  not_connected: 'not connected',
}

function missingText(verifier: Propagation['verifiers'][number]): string {
  const { seq, rejects_from, state } = verifier
  if (state === 'not_connected')
    return `${nameText(verifier)}, rejects all from ${rejects_from ?? 'an unknown time'}`
  const rejects = rejects_from === null ? '' : `, rejects from ${rejects_from}`
  return `${nameText(verifier)} at ${seq}${rejects}`
}

function nameText({ verifier_id, instance_id }: Named): string {
  return verifier_id === instance_id || instance_id === null
    ? visible(verifier_id)
    : `${visible(verifier_id)} ${shortInstance(instance_id)}`
}

/** The first characters of an instance id, enough to distinguish a few. */
export function shortInstance(instanceId: string | null): string | null {
  return instanceId === null ? null : visible(instanceId.slice(0, 8))
}

function deniedText({ denied_everywhere_at, exceptions }: Propagation): string {
  if (denied_everywhere_at === null) return `unknown: ${exceptions.map(nameText).join(', ')} fails open`
  const inSeconds = Math.ceil((Date.parse(denied_everywhere_at) - Date.now()) / 1000)
  return inSeconds <= 0 ? `since ${denied_everywhere_at}` : `from ${denied_everywhere_at}, in ${inSeconds} s`
}

/**
 * 3 if the caller waited and a connected verifier has not acknowledged. The revocation is in force
 * in any case.
 */
export function propagationExit({ propagation }: Revoked, waitSeconds: number | undefined): ExitCode {
  if (waitSeconds === undefined) return 0
  return propagation !== undefined && propagation.acknowledged >= propagation.connected ? 0 : 3
}
