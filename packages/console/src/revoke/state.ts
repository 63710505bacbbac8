import type {
  Preview,
  PropagationReceipt,
  ResolvedUser,
  RevocationTarget,
  UserDetail,
} from '@countersign/core/contract'
import { computed, type Signal, signal } from '@preact/signals'
import {
  CallProblem,
  call,
  callPatiently,
  isBusyAnswer,
  NoAnswer,
  newIdempotencyKey,
  sessionEnded,
  waitWhileBusy,
} from '../api/call.ts'
import { serviceNowMs } from '../live.ts'
import { say } from '../say.ts'
import { countRequests, type Done, sendPart, type Target, toPreviewActs } from './target.ts'

export type { Target } from './target.ts'

/** What is known of a target before it is revoked. */
export interface Outlook {
  readonly preview: Preview
  /** Numbers of several requests together: some things may be counted twice. */
  readonly isUpperBound: boolean
  /** The service has never seen the target. */
  readonly isUnseen: boolean
  readonly isRevoked: boolean
  /** The ids under which the user is known. Empty for other targets. */
  readonly ids: readonly string[]
}

/**
 * An act from the moment it was sent. Nothing is called revoked before the durable answer, and an
 * answer that never comes is `unknown`: it is asked for again with the same idempotency key.
 */
export type Progress =
  | {
      readonly at: 'sending' | 'unknown'
      readonly tries: number
      readonly sentAtMs: number
      readonly done: number
    }
  | { readonly at: 'failed'; readonly fault: string; readonly done: number }
  | { readonly at: 'done'; readonly done: Done; readonly propagation: PropagationReceipt | undefined }

export interface Act {
  readonly id: string
  readonly siteId: string
  readonly target: Target
  readonly reason: string
  readonly outlook: Outlook | undefined
  readonly progress: Signal<Progress>
}

export type Sheet =
  | { readonly at: 'closed' }
  | {
      readonly at: 'choose'
      readonly siteId: string
      readonly text: string
      readonly fault?: string
      readonly isBusy: boolean
    }
  | {
      readonly at: 'form'
      /** The site that the preview is about. The page behind the sheet may become another. */
      readonly siteId: string
      readonly target: Target
      /** Undefined while it is loaded. */
      readonly outlook: Outlook | undefined
      readonly fault?: string | undefined
      readonly reason: string
      /** The second question, for a target that the service has never seen. */
      readonly isAskedAgain: boolean
    }
  | { readonly at: 'act'; readonly act: Act }

export const sheet = signal<Sheet>({ at: 'closed' })
/** Acts that go on after their sheet was closed: unanswered ones, and receipts that fill up. */
export const openActs = signal<readonly Act[]>([])

/** Whether the sheet shows an act that has an answer: then lists behind it are loaded again. */
export const isAnswered = computed(() => {
  const progress = sheet.value.at === 'act' ? sheet.value.act.progress.value : undefined
  return (
    progress?.at === 'failed' ||
    (progress?.at === 'done' && (progress.done.seq === undefined || progress.propagation !== undefined))
  )
})

export function openRevoke(siteId: string, text: string): void {
  sheet.value = { at: 'choose', siteId, text, isBusy: false }
}

/** For a name that was typed before: shows at once what it will end. */
export function startRevoke(siteId: string, text: string): void {
  openRevoke(siteId, text)
  void choose(siteId, text)
}

/** For a target that is known: a row, a key, an issuer, or several of them. */
export function startRevokeTarget(siteId: string, target: Target): void {
  sheet.value = { at: 'form', siteId, target, outlook: undefined, reason: '', isAskedAgain: false }
  void loadOutlook(siteId, target)
}

/** Closing ends nothing: what was sent goes on, and can be opened again. */
export function closeSheet(): void {
  sheet.value = { at: 'closed' }
}

export function openAct(act: Act): void {
  sheet.value = { at: 'act', act }
}

/** Finds out what was meant: an id of ours, or the name under which the company knows a user. */
export async function choose(siteId: string, given: string): Promise<void> {
  const text = given.trim()
  if (text === '') return
  sheet.value = { at: 'choose', siteId, text, isBusy: true }
  const asked = sheet.value
  try {
    const target = await resolveTarget(siteId, text)
    if (sheet.value === asked) startRevokeTarget(siteId, target)
  } catch (fault) {
    if (sheet.value === asked)
      sheet.value = { at: 'choose', siteId, text, isBusy: false, fault: describe(fault) }
  }
}

/** Names that were typed in this tab, by user. They are shown, and stored nowhere. */
const names = new Map<string, string>()

export function typedName(ppid: string): string | undefined {
  return names.get(ppid)
}

/** Finds the user with this name or id. */
export async function resolveUser(
  siteId: string,
  text: string,
): Promise<{ id: string; name: string | undefined }> {
  const isPpid = /^(?:did:service:)?ppid_/.test(text)
  const body = isPpid ? { ppid: text.startsWith('ppid_') ? `did:service:${text}` : text } : { user_ref: text }
  const path = `/api/sites/${siteId}/users/resolve`
  const { users } = await call<ResolvedUser>(path, { method: 'POST', site: siteId, body })
  const [first] = users
  if (first === undefined) throw new Error(say('The service knows no such user.'))
  if (!isPpid) for (const { ppid } of users) names.set(ppid, text)
  return { id: first.ppid, name: isPpid ? names.get(first.ppid) : text }
}

async function resolveTarget(siteId: string, text: string): Promise<Target> {
  if (text.startsWith('cred_')) return { kind: 'credential', id: text }
  if (text.startsWith('tok_')) return { kind: 'token', id: text }
  return { kind: 'user', ...(await resolveUser(siteId, text)) }
}

async function loadOutlook(siteId: string, target: Target): Promise<void> {
  const update = (members: { outlook?: Outlook; fault?: string }) => {
    const current = sheet.value
    if (current.at === 'form' && current.target === target) sheet.value = { ...current, ...members }
  }
  try {
    update({ outlook: await findOutlook(siteId, target) })
  } catch (fault) {
    update({ fault: describe(fault) })
  }
}

async function findOutlook(siteId: string, target: Target): Promise<Outlook> {
  const [previews, state] = await Promise.all([loadPreviews(siteId, target), findState(siteId, target)])
  const [first, ...rest] = previews
  if (first === undefined) throw new Error(say('Nothing was chosen.'))
  const preview = rest.reduce(addPreviews, first)
  return { preview, isUpperBound: rest.length > 0, ...state }
}

/** One after the other: a person may run one preview at a time. */
async function loadPreviews(siteId: string, target: Target): Promise<readonly Preview[]> {
  const previews: Preview[] = []
  for (const act of toPreviewActs(target)) {
    const path = `/api/sites/${siteId}/preview`
    previews.push(await callPatiently<Preview>(path, { method: 'POST', site: siteId, body: { act } }))
  }
  return previews
}

function addPreviews(one: Preview, other: Preview): Preview {
  const add = (a: Preview['users'], b: Preview['users']) => ({
    count: a.count + b.count,
    complete: a.complete && b.complete,
  })
  return {
    ...one,
    users: add(one.users, other.users),
    credentials: add(one.credentials, other.credentials),
    tokens: add(one.tokens, other.tokens),
    bound_credentials: one.bound_credentials + other.bound_credentials,
    delegated_credentials: one.delegated_credentials + other.delegated_credentials,
    offers: one.offers + other.offers,
    sign_ins: one.sign_ins + other.sign_ins,
    ends_own_access: one.ends_own_access || other.ends_own_access,
    irreversible: one.irreversible || other.irreversible,
  }
}

/** Whether the target was ever seen here, and whether it is revoked already. */
async function findState(
  siteId: string,
  target: Target,
): Promise<Pick<Outlook, 'isUnseen' | 'isRevoked' | 'ids'>> {
  const site = `/api/sites/${siteId}`
  const load = <T>(path: string, query = {}) => call<T>(`${site}/${path}`, { site: siteId, query })
  if (target.kind === 'credential') {
    const path = `credentials/${encodeURIComponent(target.id)}`
    const found = await load<{ status: string }>(path).catch((fault) => {
      if (fault instanceof CallProblem && fault.status === 404) return undefined
      throw fault
    })
    return { isUnseen: found === undefined, isRevoked: found?.status === 'revoked', ids: [] }
  }
  if (target.kind !== 'user') return { isUnseen: false, isRevoked: false, ids: [] }
  const [{ users }, detail, credentials, tokens] = await Promise.all([
    call<ResolvedUser>(`${site}/users/resolve`, {
      method: 'POST',
      site: siteId,
      body: target.name === undefined ? { ppid: target.id } : { user_ref: target.name },
    }),
    load<UserDetail>(`users/${encodeURIComponent(target.id)}`),
    load<{ items: readonly unknown[] }>('credentials', { ppid: target.id, limit: 1 }),
    load<{ items: readonly unknown[] }>('tokens', { ppid: target.id, limit: 1 }),
  ])
  return {
    isUnseen: detail.history.length + credentials.items.length + tokens.items.length === 0,
    isRevoked: users.every(({ status }) => status === 'revoked'),
    ids: users.map(({ ppid }) => ppid),
  }
}

export function setReason(reason: string): void {
  const current = sheet.value
  if (current.at === 'form') sheet.value = { ...current, reason }
}

/** Sends the act, unless the target was never seen: then it asks first whether that is meant. */
export function confirm(): void {
  const current = sheet.value
  if (current.at !== 'form') return
  const reason = current.reason.trim()
  if (reason === '') return
  if (current.outlook?.isUnseen === true && !current.isAskedAgain) {
    sheet.value = { ...current, reason, isAskedAgain: true }
    return
  }
  const act: Act = {
    id: newIdempotencyKey(),
    siteId: current.siteId,
    target: current.target,
    reason,
    outlook: current.outlook,
    progress: signal<Progress>({ at: 'sending', tries: 1, sentAtMs: performance.now(), done: 0 }),
  }
  sheet.value = { at: 'act', act }
  openActs.value = [...openActs.value, act]
  void carryOut(act)
}

export function goBack(): void {
  const current = sheet.value
  if (current.at === 'form') sheet.value = { ...current, isAskedAgain: false }
}

/** The form again, with the reason that was typed, after an answer that nothing has happened. */
export function retryAct(act: Act): void {
  sheet.value = {
    at: 'form',
    siteId: act.siteId,
    target: act.target,
    outlook: act.outlook,
    reason: act.reason,
    isAskedAgain: false,
  }
  if (act.outlook === undefined) void loadOutlook(act.siteId, act.target)
}

export const ANSWER_MS_MAX = 8000

async function carryOut(act: Act): Promise<void> {
  const { siteId, target, progress } = act
  const parts = countRequests(target)
  let total: Done = { seq: undefined, entries: [], wasRevoked: false, count: 0, notFound: 0 }
  for (let part = 0; part < parts; part++) {
    const done = await sendUntilAnswered(act, part, total.count)
    if (typeof done === 'string') {
      progress.value = { at: 'failed', fault: done, done: total.count }
      forget(act)
      return
    }
    total = {
      seq: done.seq ?? total.seq,
      entries: [...total.entries, ...done.entries],
      wasRevoked: done.wasRevoked && total.count === 0,
      count: total.count + done.count,
      notFound: total.notFound + done.notFound,
    }
  }
  progress.value = { at: 'done', done: total, propagation: undefined }
  if (total.seq !== undefined) await watchReceipt(act, siteId, total.seq)
  forget(act)
}

/** Shows the receipt of an act that another sheet has sent, and fills it up. */
export function showReceipt(siteId: string, target: Target, reason: string, done: Done): void {
  const act: Act = {
    id: newIdempotencyKey(),
    siteId,
    target,
    reason,
    outlook: undefined,
    progress: signal<Progress>({ at: 'done', done, propagation: undefined }),
  }
  sheet.value = { at: 'act', act }
  if (done.seq === undefined) return
  openActs.value = [...openActs.value, act]
  void watchReceipt(act, siteId, done.seq).then(() => forget(act))
}

function forget(act: Act): void {
  openActs.value = openActs.value.filter((each) => each !== act)
}

/** Repeats the same request until an answer says what happened. A text says that nothing has. */
async function sendUntilAnswered(act: Act, part: number, done: number): Promise<Done | string> {
  const { siteId, target, reason, progress, id } = act
  const idempotencyKey = part === 0 ? id : `${id}-${part}`
  const sentAtMs = performance.now()
  for (let tries = 1; ; tries++) {
    if (progress.value.at !== 'unknown') progress.value = { at: 'sending', tries, sentAtMs, done }
    else progress.value = { at: 'unknown', tries, sentAtMs, done }
    try {
      return await sendPart(siteId, target, reason, part, { idempotencyKey, timeoutMs: ANSWER_MS_MAX })
    } catch (fault) {
      if (fault instanceof CallProblem && fault.code === 'session_required') await whenSignedIn()
      else if (isBusyAnswer(fault)) await waitWhileBusy()
      else if (isUnknown(fault)) {
        progress.value = { at: 'unknown', tries: tries + 1, sentAtMs, done }
        await sleep(Math.min(500 * 2 ** (tries - 1), ANSWER_MS_MAX))
      } else return describe(fault)
    }
  }
}

/** Without an answer, and after a fault of the service, the act may or may not have happened. */
export function isUnknown(fault: unknown): boolean {
  return fault instanceof NoAnswer || (fault instanceof CallProblem && fault.status >= 500)
}

function whenSignedIn(): Promise<void> {
  return new Promise((resolve) => {
    const stop = sessionEnded.subscribe((ended) => {
      if (ended) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}

const FAST_MS = 250
const SLOW_MS = 2000
const WATCHED_MS_MAX = 30 * 60_000

/** Loads the receipt again and again until access is denied everywhere and all have answered. */
async function watchReceipt(act: Act, siteId: string, seq: number): Promise<void> {
  const { progress } = act
  const beganAtMs = performance.now()
  while (performance.now() - beganAtMs < WATCHED_MS_MAX) {
    const propagation = await call<PropagationReceipt>(`/api/sites/${siteId}/propagation`, {
      site: siteId,
      query: { seq },
      timeoutMs: SLOW_MS,
    }).catch(() => undefined)
    const current = progress.value
    if (current.at === 'done' && propagation !== undefined) progress.value = { ...current, propagation }
    if (propagation !== undefined && isComplete(propagation)) return
    await sleep(performance.now() - beganAtMs < 10_000 ? FAST_MS : SLOW_MS)
  }
}

/** Denied everywhere, and every verifier that is connected has said so itself. */
export function isComplete(propagation: PropagationReceipt): boolean {
  return (
    isDeniedEverywhere(propagation) && propagation.verifiers.every(({ state }) => state === 'acknowledged')
  )
}

/** By the clock of the service. */
export function isDeniedEverywhere({
  denied_everywhere_at,
}: Pick<PropagationReceipt, 'denied_everywhere_at'>): boolean {
  return denied_everywhere_at !== null && Date.parse(denied_everywhere_at) <= serviceNowMs()
}

/** Up to this many targets are revoked by one act. */
export const MATCHING_MAX = 2000

/** Everything that matches a filter, as it is now. Undefined: there are too many for one act. */
export async function findMatching<Item>(
  siteId: string,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  toTarget: (item: Item) => RevocationTarget | undefined,
): Promise<readonly RevocationTarget[] | undefined> {
  const found: RevocationTarget[] = []
  for (let cursor: string | undefined; ; ) {
    const page: { items: readonly Item[]; next_cursor?: string | null } = await call(path, {
      site: siteId,
      query: { ...query, limit: 200, cursor },
    })
    for (const item of page.items) {
      const target = toTarget(item)
      if (target !== undefined) found.push(target)
    }
    if (found.length > MATCHING_MAX) return undefined
    if (page.next_cursor === undefined || page.next_cursor === null) return found
    cursor = page.next_cursor
  }
}

export function describe(fault: unknown): string {
  // The words of the API speak of paths and keys.
  if (fault instanceof CallProblem && fault.code === 'not_found')
    return say('Nothing is known here under this id. Check the address.')
  if (fault instanceof CallProblem && fault.code === 'validation_failed' && fault.errors.length > 0)
    return fault.errors.map(({ path, message }) => `${path} ${message}`).join('; ')
  return fault instanceof Error ? fault.message : say('Something went wrong.')
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

// A tab that is closed now would not learn whether access has ended.
addEventListener('beforeunload', (event) => {
  if (openActs.value.some(({ progress }) => ['sending', 'unknown'].includes(progress.value.at)))
    event.preventDefault()
})
