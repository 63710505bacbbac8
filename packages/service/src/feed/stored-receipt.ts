import {
  formatTime,
  parseTime,
  RECEIPT_VERIFIERS_MAX,
  type ReceiptFields,
  type ReceiptVerifier,
} from '@countersign/core'
import type { ReceiptEntry } from '../store/operations/receipts.ts'
import type { ApplyTime } from '../store/operations/shared/apply-time-rows.ts'
import type { Receipt, VerifierReport } from './receipt.ts'

/** A version of a receipt, and the times of verifiers that the version before did not have. */
export interface TimedReceipt {
  readonly receipt: UnsignedReceipt
  readonly times: readonly ApplyTime[]
}

/** A receipt as it is signed, without the key. */
export type UnsignedReceipt = Omit<ReceiptFields, 'kid'>

/**
 * When a receipt that is not complete is written again: at these ages of its entry. After the last
 * one it is final. Until then it also changes when a verifier catches up.
 */
const DUE_AGES_MS = [30_000, 120_000, 600_000, 3_600_000, 6 * 3_600_000, 24 * 3_600_000]
const FINAL_MS = DUE_AGES_MS.at(-1) as number

/** When a receipt is due again after `nowMs`; undefined when it is final. */
export function findDue({ state, final, committed_at }: UnsignedReceipt, nowMs: number): number | undefined {
  if (state === 'complete' || final) return undefined
  const committedAtMs = toMs(committed_at)
  return committedAtMs + (DUE_AGES_MS.find((ageMs) => committedAtMs + ageMs > nowMs) ?? FINAL_MS)
}

/**
 * The first version of the receipt of an entry. It has the instances that have closed since the
 * commit, so that it does not matter how soon it is written. It leaves out instances that opened
 * their lease when every node had applied the entry, at most `appliedMsMax` after its commit: they
 * never had a head without it.
 */
export function createStoredReceipt(
  entry: ReceiptEntry,
  live: Receipt,
  { nowMs, appliedMsMax }: { readonly nowMs: number; readonly appliedMsMax: number },
): TimedReceipt {
  const exceptions = new Set(live.exceptions)
  const untilMs = live.committedAtMs + appliedMsMax
  const verifiers = live.verifiers
    .filter(({ openedAtMs }) => openedAtMs === undefined || openedAtMs <= untilMs)
    .map((report) => toVerifier(report, entry.atMs, exceptions.has(report)))
    .map((verifier) => toGone(verifier, entry.drillId === null && nowMs >= live.deniedAtLatestMs))
    .concat(live.closed.map((report) => toClosed(toVerifier(report, entry.atMs, false))))
  const receipt = complete(
    {
      site_id: entry.siteId,
      epoch: entry.epoch,
      seq: entry.seq,
      kind: entry.kind,
      entry_hash: entry.hash,
      at: formatTime(entry.atMs),
      committed_at: formatTime(Math.ceil(live.committedAtMs)),
      drill_id: entry.drillId,
      expected: verifiers.length,
      denied_everywhere_at: toTime(live.deniedEverywhereAtMs),
      denied_at_latest: formatTime(Math.ceil(live.deniedAtLatestMs)),
    },
    verifiers,
    { acknowledged: count(verifiers, 'acknowledged'), gone: count(verifiers, 'gone') },
    nowMs,
  )
  const times = toTimes([...live.verifiers, ...live.closed], {
    atMs: entry.atMs,
    committedAtMs: live.committedAtMs,
  })
  return { receipt, times }
}

/**
 * The next version of a receipt. It covers the same verifiers as the first one, and what they have
 * acknowledged stays. An instance that is no longer known is gone: it closed, or its lease ended. A
 * reader without a lease may accept until `denied_at_latest`, so it is pending until then. In a
 * drill it stays pending: only an acknowledgement counts.
 */
export function updateStoredReceipt(before: UnsignedReceipt, live: Receipt, nowMs: number): TimedReceipt {
  const { site_id, epoch, seq, kind, entry_hash, at, committed_at, drill_id, expected } = before
  const fields = {
    ...{ site_id, epoch, seq, kind, entry_hash, at, committed_at, drill_id, expected },
    denied_everywhere_at: toEarlier(before.denied_everywhere_at, live.deniedEverywhereAtMs),
    denied_at_latest: before.denied_at_latest,
  }
  const [atMs, committedAtMs] = [toMs(at), toMs(committed_at)]
  const isOver = drill_id === null && nowMs >= toMs(before.denied_at_latest)
  const exceptions = new Set(live.exceptions)
  const convert = (report: VerifierReport) => toVerifier(report, atMs, exceptions.has(report))
  const reports = Map.groupBy(live.verifiers, toName)
  const takeReport = matchReports(before.verifiers, reports)
  const changed: VerifierReport[] = []
  const listed = before.verifiers.map((verifier): ReceiptVerifier => {
    if (!isPending(verifier)) return withFirstDenial(verifier, reports, atMs)
    const report = takeReport(verifier)
    if (report === undefined) {
      const isGone = verifier.instance_id !== null || isOver
      return { ...verifier, state: isGone ? 'gone' : 'not_connected', node_id: null }
    }
    changed.push(report)
    return toGone({ ...convert(report), fails_open: verifier.fails_open }, isOver)
  })
  const unlisted = countUnlisted(before)
  const found = unlisted.pending === 0 ? NONE_FOUND : findUnlisted(before, live, unlisted)
  const lost = unlisted.pending - found.pending.length - found.acknowledged
  const named = [...found.pending, ...found.done.slice(0, unlisted.acknowledged + found.acknowledged)]
  const counts = {
    acknowledged: unlisted.acknowledged + found.acknowledged,
    gone: unlisted.gone + (isOver && !found.failsOpen ? lost : 0),
  }
  return {
    receipt: complete(
      fields,
      [...listed, ...named.map(convert)],
      {
        acknowledged: counts.acknowledged + count(listed, 'acknowledged'),
        gone: counts.gone + count(listed, 'gone'),
      },
      nowMs,
    ),
    times: toTimes(changed, { atMs, committedAtMs }),
  }
}

/** A reader without a lease that has left can accept until no guard can. */
function toGone(verifier: ReceiptVerifier, isOver: boolean): ReceiptVerifier {
  const { instance_id, state } = verifier
  return isOver && instance_id === null && state === 'not_connected'
    ? { ...verifier, state: 'gone' }
    : verifier
}

/** An instance that closed accepts nothing any more, and acknowledges nothing either. */
function toClosed(verifier: ReceiptVerifier): ReceiptVerifier {
  return verifier.state === 'acknowledged' ? verifier : { ...verifier, state: 'gone' }
}

/** By `toName`. */
type ReportsByName = ReadonlyMap<string, readonly VerifierReport[]>

/** The first denial may come after the acknowledgement. What was stated before stays. */
function withFirstDenial(verifier: ReceiptVerifier, reports: ReportsByName, atMs: number): ReceiptVerifier {
  const { instance_id, first_denied_ms = null } = verifier
  if (instance_id === null || first_denied_ms !== null) return verifier
  const [report] = reports.get(toVerifierName(verifier)) ?? []
  if (report?.deniedAtMs === undefined) return verifier
  const { applied_ms = null } = verifier
  return { ...verifier, applied_ms, first_denied_ms: toAfterMs(report.deniedAtMs, atMs) }
}

/**
 * Finds the report of a pending verifier. Two keys may have readers of the same name: those that
 * have acknowledged before keep their reports, and the first one left has not acknowledged.
 */
function matchReports(
  before: readonly ReceiptVerifier[],
  reports: ReportsByName,
): (verifier: ReceiptVerifier) => VerifierReport | undefined {
  const left = new Map([...reports].map(([name, own]) => [name, [...own]]))
  for (const verifier of before) {
    const own = left.get(toVerifierName(verifier))
    if (verifier.state === 'acknowledged' && own?.at(-1)?.state === 'acknowledged') own.pop()
  }
  return (verifier) => left.get(toVerifierName(verifier))?.shift()
}

interface Unlisted {
  readonly acknowledged: number
  readonly gone: number
  readonly pending: number
}

/** The verifiers that a version counts and does not list. */
function countUnlisted({ expected, acknowledged, gone, verifiers }: UnsignedReceipt): Unlisted {
  return {
    acknowledged: acknowledged - count(verifiers, 'acknowledged'),
    gone: gone - count(verifiers, 'gone'),
    pending: expected - acknowledged - gone - verifiers.filter(isPending).length,
  }
}

interface FoundReports {
  readonly pending: readonly VerifierReport[]
  readonly done: readonly VerifierReport[]
  /** How many more have acknowledged than before. */
  readonly acknowledged: number
  /** Whether one that fails open has not acknowledged. */
  readonly failsOpen: boolean
}

const NONE_FOUND: FoundReports = { pending: [], done: [], acknowledged: 0, failsOpen: false }

/**
 * The list was too short for all that had not acknowledged. The first version counted every
 * verifier that has been known since before the commit. A newer one may be another, so it replaces
 * none of them.
 */
function findUnlisted(before: UnsignedReceipt, live: Receipt, unlisted: Unlisted): FoundReports {
  const names = new Set(before.verifiers.map(toVerifierName))
  const others = live.verifiers.filter((report) => !names.has(toName(report)))
  const known = others.filter(({ sinceMs }) => sinceMs <= toMs(before.committed_at))
  const pending = known.filter(({ state }) => state !== 'acknowledged').slice(0, unlisted.pending)
  const done = known.filter(({ state }) => state === 'acknowledged')
  const more = Math.max(0, done.length - unlisted.acknowledged)
  return {
    pending,
    done,
    acknowledged: Math.min(more, unlisted.pending - pending.length),
    failsOpen: live.exceptions.some((each) => each.state !== 'acknowledged' && others.includes(each)),
  }
}

function count(verifiers: readonly ReceiptVerifier[], state: ReceiptVerifier['state']): number {
  return verifiers.filter((verifier) => verifier.state === state).length
}

/**
 * The times of those that have acknowledged. An instance that is newer than the commit is not
 * counted: it was not there to apply the entry. Those without a configured name are counted
 * together.
 */
function toTimes(
  reports: readonly VerifierReport[],
  { atMs, committedAtMs }: { readonly atMs: number; readonly committedAtMs: number },
): readonly ApplyTime[] {
  return reports.flatMap(
    ({ state, acknowledgedAtMs, appliedAtMs, verifierId, instanceId, openedAtMs = 0 }) =>
      state !== 'acknowledged' || acknowledgedAtMs === undefined || openedAtMs > committedAtMs
        ? []
        : [
            {
              verifierId: verifierId === instanceId ? '' : verifierId,
              measure: appliedAtMs === undefined ? 'acknowledged' : 'applied',
              ms: toAfterMs(appliedAtMs ?? acknowledgedAtMs, atMs),
            },
          ],
  )
}

function toNullableMs(ms: number | undefined, atMs: number): number | null {
  return ms === undefined ? null : toAfterMs(ms, atMs)
}

function toAfterMs(ms: number, atMs: number): number {
  return Math.max(0, Math.ceil(ms - atMs))
}

/** Whether the new version says something else about the verifiers. */
export function isChanged(before: UnsignedReceipt, next: UnsignedReceipt): boolean {
  const toStates = ({ verifiers }: UnsignedReceipt) =>
    verifiers.map(({ verifier_id, instance_id, state }) => `${verifier_id} ${instance_id} ${state}`).sort()
  return (
    before.state !== next.state ||
    before.final !== next.final ||
    before.acknowledged !== next.acknowledged ||
    JSON.stringify(toStates(before)) !== JSON.stringify(toStates(next))
  )
}

/** `counts` include verifiers that are not in `verifiers`. All others are pending. */
function complete(
  fields: Omit<
    UnsignedReceipt,
    'as_of' | 'state' | 'final' | 'acknowledged' | 'gone' | 'elapsed_ms' | 'verifiers'
  >,
  verifiers: readonly ReceiptVerifier[],
  counts: Pick<UnsignedReceipt, 'acknowledged' | 'gone'>,
  nowMs: number,
): UnsignedReceipt {
  const pending = verifiers.filter(isPending)
  const gone = verifiers.filter(({ state }) => state === 'gone')
  const done = verifiers
    .filter(({ state }) => state === 'acknowledged')
    .sort((one, other) => (other.after_ms ?? 0) - (one.after_ms ?? 0))
  const isComplete = counts.acknowledged + counts.gone === fields.expected
  const listed = [...pending, ...gone, ...done].slice(0, RECEIPT_VERIFIERS_MAX)
  return {
    ...fields,
    as_of: formatTime(nowMs),
    state: isComplete ? 'complete' : 'waiting',
    final: isComplete || nowMs - toMs(fields.committed_at) >= FINAL_MS,
    ...counts,
    elapsed_ms: isComplete ? Math.max(0, ...done.map(({ after_ms }) => after_ms ?? 0)) : null,
    verifiers: listed,
  }
}

function isPending({ state }: ReceiptVerifier): boolean {
  return state !== 'acknowledged' && state !== 'gone'
}

function toVerifier(report: VerifierReport, atMs: number, failsOpen: boolean): ReceiptVerifier {
  const { acknowledgedAtMs } = report
  return {
    verifier_id: report.verifierId,
    instance_id: report.instanceId ?? null,
    node_id: report.nodeId ?? null,
    state: report.state,
    after_ms: toNullableMs(acknowledgedAtMs, atMs),
    applied_ms: toNullableMs(report.appliedAtMs, atMs),
    first_denied_ms: toNullableMs(report.deniedAtMs, atMs),
    rejects_from: toTime(report.rejectsFromMs),
    fails_open: failsOpen,
  }
}

function toName({ verifierId, instanceId }: VerifierReport): string {
  return `${verifierId} ${instanceId ?? ''}`
}

function toVerifierName({ verifier_id, instance_id }: ReceiptVerifier): string {
  return `${verifier_id} ${instance_id ?? ''}`
}

/** A stated time stays true, so the earlier one is kept. */
function toEarlier(before: string | null, ms: number | undefined): string | null {
  const next = toTime(ms)
  return before === null || (next !== null && toMs(next) < toMs(before)) ? next : before
}

/** Rounded up, so that the time is never too early. */
function toTime(ms: number | undefined): string | null {
  return ms === undefined ? null : formatTime(Math.ceil(ms))
}

function toMs(time: string): number {
  return parseTime(time) ?? 0
}
