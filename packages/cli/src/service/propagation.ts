import type { CallOptions, Client } from '@countersign/sdk'
import { type ExitCode, type Given, type Option, UsageError } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import { describeError } from '../terminal/describe-error.ts'
import { facts, type Terminal, visible } from '../terminal/output.ts'
import { connect, connectSite, requireSite } from './connection.ts'
import { type Holder, loadHolder } from './holder.ts'

/** The response to a revocation. */
type Revoked = Awaited<ReturnType<Client['revokeUser' | 'revokeCredential']>>

/** The response to a cut-off. */
type CutOff = Awaited<ReturnType<Client['cutOffSite']>>

/** Which verifiers of the site have applied a log entry. */
type Propagation = NonNullable<Revoked['propagation']>
type Verifier = Propagation['verifiers'][number]

const WAIT_SECONDS_MAX = 30
const LOOK_MS = 50

/** The options of revocations and cut-offs. */
export const REVOCATION_OPTIONS: readonly Option[] = [
  ['--reason <text>', 'why, for the audit; never sent to verifiers'],
  [
    '--wait [seconds]',
    `wait until every connected verifier has applied it, at most ${WAIT_SECONDS_MAX} seconds`,
  ],
]

/** What a command needs to revoke something. */
export interface Revoker {
  readonly client: Client
  readonly site_id: string
  /** With `--self`. */
  readonly own: Holder | undefined
  readonly options: CallOptions
  readonly waitSeconds: number | undefined
}

/** Finds the service, and loads the holder if a holder revokes its own credential. */
export async function connectRevoker(given: Given, at: Terminal): Promise<Revoker> {
  const waitSeconds = parseWaitSeconds(given)
  const target = await connect(given, at)
  const own = await loadHolder(given, target.dev)
  // A holder has no API key to read the receipt with, so the service waits on its behalf.
  const options = own === undefined ? {} : { ...own.options, ...omitUndefined({ waitSeconds }) }
  return { client: target.client, site_id: own?.siteId ?? requireSite(target), own, options, waitSeconds }
}

/** The same for what needs an API key. `named` is the site if it is an argument of the command. */
export async function connectCutOff(given: Given, at: Terminal, named?: string): Promise<Revoker> {
  const waitSeconds = parseWaitSeconds(given)
  const { client, site_id } = await connectSite(given, at, named)
  return { client, site_id, own: undefined, options: {}, waitSeconds }
}

/** `--wait` without a number waits for the longest time that the service allows. */
export function parseWaitSeconds(given: Given): number | undefined {
  const text = given.text('wait') as string | true | undefined
  if (text === undefined) return undefined
  if (text === true) return WAIT_SECONDS_MAX
  if (/^\d{1,2}$/.test(text) && Number(text) <= WAIT_SECONDS_MAX) return Number(text)
  throw new UsageError(`--wait must be seconds from 0 to ${WAIT_SECONDS_MAX}`)
}

/** Prints a revocation. See `printWithReceipt`. */
export function printRevocation(
  revoker: Revoker,
  at: Terminal,
  what: string,
  done: Revoked,
): Promise<ExitCode> {
  const { already_revoked, credential_ids, tokens_revoked, revoked_at, entries = [] } = done
  return printWithReceipt(revoker, at, done, [
    [already_revoked ? 'revoked before' : 'revoked', what],
    ['ids', entries.length > 1 ? entries.map(({ ppid }) => ppid) : undefined],
    ['at', revoked_at],
    [
      'credentials',
      credential_ids.length === 0 ? 'none known; unknown ones are rejected too' : credential_ids,
    ],
    ['tokens', tokens_revoked],
  ])
}

/** Prints the revocation of a token by its id; 3 if there was nothing to revoke. */
export async function printTokenRevocation(
  revoker: Revoker,
  at: Terminal,
  done: Awaited<ReturnType<Client['revokeTokenById']>>,
): Promise<ExitCode> {
  const { token_id, epoch, seq } = done
  if (epoch !== null && seq !== null)
    return printWithReceipt(revoker, at, { ...done, epoch, seq }, [['revoked', token_id]])
  at.result(done, () => 'Nothing to revoke: the token is unknown, expired or already revoked.')
  return 3
}

/** Prints a revocation of several targets; 3 if one of them was not found. */
export async function printTargets(
  revoker: Revoker,
  at: Terminal,
  done: Awaited<ReturnType<Client['revokeTargets']>>,
): Promise<ExitCode> {
  const code = await printWithReceipt(revoker, at, done, [
    ['revoked', done.revoked],
    ['revoked before', done.already_revoked],
    ['not found', done.results.flatMap(({ outcome, ids }) => (outcome === 'not_found' ? ids : []))],
    ['tokens', done.tokens_revoked],
    ['at', done.revoked_at],
  ])
  return done.not_found > 0 ? 3 : code
}

/** Prints a cut-off. See `printWithReceipt`. */
export function printCutOff(revoker: Revoker, at: Terminal, what: string, done: CutOff): Promise<ExitCode> {
  const { kind, already_revoked, before, entries = [] } = done
  const isKey = kind === 'holder.revoked'
  const heading = isKey ? (already_revoked ? 'revoked before' : 'revoked') : CUT_OFF_HEADINGS[kind]
  return printWithReceipt(revoker, at, done, [
    [heading, what],
    ['ids', entries.length > 1 ? entries.map(({ ppid }) => ppid) : undefined],
    [isKey ? 'at' : 'issued until', before],
  ])
}

const CUT_OFF_HEADINGS = {
  'user.signed_out': 'signed out',
  'issuer.cut_off': 'cut off',
  'site.cut_off': 'cut off',
} as const

/**
 * Prints what was done, with its receipt if the caller wants to wait. The exit code is 3 if the
 * caller waited and a connected verifier has not acknowledged. The revocation is in force in any
 * case.
 */
async function printWithReceipt<Done extends Pick<Revoked, 'epoch' | 'seq' | 'propagation'>>(
  revoker: Revoker,
  at: Terminal,
  done: Done,
  rows: Parameters<typeof facts>[0],
): Promise<ExitCode> {
  const propagation = done.propagation ?? (await loadReceipt(revoker, at, done.seq))
  at.result({ ...done, ...omitUndefined({ propagation }) }, () =>
    facts([...rows, ['log', `${done.epoch}.${done.seq}`], ...listReceiptFacts(propagation)]),
  )
  if (revoker.waitSeconds === undefined) return 0
  return propagation !== undefined && isAcknowledged(propagation) ? 0 : 3
}

/** Whether every connected verifier has the entry; also if nothing was appended. */
export function isAcknowledged(propagation: Propagation | undefined): boolean {
  return propagation === undefined || propagation.acknowledged >= propagation.connected
}

/** The rows of a receipt; none without one. */
export function listReceiptFacts(propagation: Propagation | undefined): [string, string][] {
  if (propagation === undefined) return []
  return [
    ['applied by', receiptText(propagation)],
    ...missingFacts(propagation),
    ['denied everywhere', deniedText(propagation)],
  ]
}

/**
 * Undefined if the caller does not want to wait. When the receipt cannot be read, the revocation
 * still has succeeded, and the note says so.
 */
async function loadReceipt(
  { client, site_id, own, waitSeconds }: Revoker,
  at: Terminal,
  seq: number,
): Promise<Propagation | undefined> {
  if (own !== undefined || waitSeconds === undefined) return undefined
  try {
    return await watchPropagation(client, { site_id, seq }, waitSeconds, at)
  } catch (fault) {
    at.progress(undefined)
    at.note(`The revocation is in force, but its receipt could not be read: ${describeError(fault).lines[0]}`)
    return undefined
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

function missingText(verifier: Verifier): string {
  const { seq, rejects_from, state } = verifier
  if (state === 'not_connected')
    return `${nameText(verifier)}, rejects all from ${rejects_from ?? 'an unknown time'}`
  const rejects = rejects_from === null ? '' : `, rejects from ${rejects_from}`
  return `${nameText(verifier)} at ${seq}${rejects}`
}

function nameText({ verifier_id, instance_id }: Pick<Verifier, 'verifier_id' | 'instance_id'>): string {
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
