import type { CallOptions, Client } from '@countersign/sdk'
import { type ExitCode, type Given, Misuse } from './command.ts'
import { failureWords } from './failure-words.ts'
import { facts, type Terminal, visible } from './output.ts'
import type { Speaker } from './speaker.ts'

/** How far an entry has got among the verifiers that follow the site. */
interface Propagation {
  readonly connected: number
  readonly acknowledged: number
  readonly elapsed_ms: number
  readonly laggards: readonly { readonly verifier_id: string; readonly seq: number }[]
}

/** What a revocation answers with, as far as it is shown here. */
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

/** `--wait` without a number waits as long as the service would. */
export function waitSecondsOf(given: Given): number | undefined {
  const text = given.text('wait') as string | true | undefined
  if (text === undefined) return undefined
  if (text === true) return WAIT_SECONDS_MAX
  if (/^\d{1,2}$/.test(text) && Number(text) <= WAIT_SECONDS_MAX) return Number(text)
  throw new Misuse(`--wait must be seconds from 0 to ${WAIT_SECONDS_MAX}`)
}

/** How the call is made: with a key, or by the holder. Who has no key cannot ask for the receipt, so the service waits for them. */
export function optionsOf(own: Speaker | undefined, waitSeconds: number | undefined): CallOptions {
  return own === undefined ? {} : { ...own.options, ...(waitSeconds === undefined ? {} : { waitSeconds }) }
}

interface Wait {
  readonly site_id: string
  readonly waitSeconds: number | undefined
  readonly own: Speaker | undefined
  readonly at: Terminal
}

/**
 * The revocation with its receipt, if that is to be waited for; how far it has got is shown meanwhile. A receipt that cannot be had is no failure of the
 * revocation: that has been done, and this says so.
 */
export async function withReceipt<Answer extends Revoked>(
  client: Pick<Client, 'propagationReceipt'>,
  done: Answer,
  { site_id, waitSeconds, own, at }: Wait,
): Promise<Answer> {
  if (own !== undefined || waitSeconds === undefined) return done
  try {
    return { ...done, propagation: await watchPropagation(client, { site_id, seq: done.seq }, waitSeconds, at) }
  } catch (fault) {
    at.progress(undefined)
    at.note(`It is revoked, but who has applied it could not be learned: ${failureWords(fault).lines[0]}`)
    return done
  }
}

/** Looks at the receipt again and again until every connected verifier has applied the entry, or the time is over. Answers with the last one. */
async function watchPropagation(
  client: Pick<Client, 'propagationReceipt'>,
  { site_id, seq }: { readonly site_id: string; readonly seq: number },
  waitSeconds: number,
  at: Terminal,
): Promise<Propagation> {
  const endMs = performance.now() + waitSeconds * 1000
  for (;;) {
    const { connected, acknowledged, elapsed_ms, laggards } = await client.propagationReceipt({ site_id, seq })
    at.progress(`${acknowledged} of ${connected} verifiers, ${Math.round(elapsed_ms)} ms`)
    if (acknowledged >= connected || performance.now() >= endMs) {
      at.progress(undefined)
      return { connected, acknowledged, elapsed_ms, laggards }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** A revocation for people: what was revoked, and the receipt when there is one. */
export function revokedText(what: string, revoked: Revoked): string {
  const { already_revoked, credential_ids, tokens_revoked, revoked_at, epoch, seq, propagation } = revoked
  return facts([
    [already_revoked ? 'revoked before' : 'revoked', what],
    ['at', revoked_at],
    ['credentials', credential_ids.length === 0 ? 'none known; those never seen are refused too' : credential_ids],
    ['tokens', tokens_revoked],
    ['log', `${epoch}.${seq}`],
    ['applied by', propagation && receiptText(propagation)],
    ['behind', propagation && propagation.laggards.length > 0 ? laggardsText(propagation) : undefined],
  ])
}

function receiptText({ connected, acknowledged, elapsed_ms }: Propagation): string {
  if (connected === 0) return 'no verifier is connected'
  return `${acknowledged} of ${connected} verifiers, ${Math.round(elapsed_ms)} ms`
}

function laggardsText({ laggards }: Propagation): string {
  return laggards.map(({ verifier_id, seq }) => `${visible(verifier_id)} (at ${seq})`).join(', ')
}

/** 3 when it was waited for and somebody has not confirmed: the revocation stands, but who knows of it was the question. */
export function propagationExit({ propagation }: Revoked, waitSeconds: number | undefined): ExitCode {
  if (waitSeconds === undefined) return 0
  return propagation !== undefined && propagation.acknowledged >= propagation.connected ? 0 : 3
}
