import type { Propagation, ResolvedUser, Revocation } from '@countersign/core/contract'
import { signal } from '@preact/signals'
import { CallProblem, call, NoAnswer, newIdempotencyKey } from '../api/call.ts'

/** What will be revoked. The name is what was typed: it is in no address and is not stored. */
export interface Target {
  readonly kind: 'user' | 'credential' | 'token'
  readonly id: string
  readonly name: string | undefined
}

/**
 * The steps of a revocation. Nothing is called revoked before the durable answer, and an answer
 * that never comes is `unknown`: it is asked for again with the same idempotency key.
 */
export type Step =
  | { readonly at: 'closed' }
  | { readonly at: 'choose'; readonly text: string; readonly fault?: string; readonly isBusy: boolean }
  | { readonly at: 'preview'; readonly target: Target; readonly fault?: string }
  | { readonly at: 'sending'; readonly target: Target; readonly reason: string }
  | { readonly at: 'unknown'; readonly target: Target; readonly reason: string; readonly tries: number }
  | {
      readonly at: 'receipt'
      readonly target: Target
      readonly reason: string
      readonly done: Revocation
      readonly propagation: Propagation | undefined
    }

export const step = signal<Step>({ at: 'closed' })

let act: { readonly key: string; readonly siteId: string } | undefined

export function openRevoke(text: string): void {
  act = undefined
  step.value = { at: 'choose', text, isBusy: false }
}

/** For a name that was typed before: shows at once what it will end. */
export function startRevoke(siteId: string, text: string): void {
  openRevoke(text)
  void choose(siteId, text)
}

export function closeRevoke(): void {
  step.value = { at: 'closed' }
}

/** Finds out what was meant: an id of ours, or the name under which the company knows a user. */
export async function choose(siteId: string, given: string): Promise<void> {
  const text = given.trim()
  if (text === '') return
  step.value = { at: 'choose', text, isBusy: true }
  try {
    step.value = { at: 'preview', target: await resolveTarget(siteId, text) }
  } catch (fault) {
    step.value = { at: 'choose', text, isBusy: false, fault: describe(fault) }
  }
}

async function resolveTarget(siteId: string, text: string): Promise<Target> {
  if (text.startsWith('cred_')) return { kind: 'credential', id: text, name: undefined }
  const isPpid = text.startsWith('did:service:ppid_') || text.startsWith('ppid_')
  const body = isPpid ? { ppid: text.startsWith('ppid_') ? `did:service:${text}` : text } : { user_ref: text }
  const { users } = await call<ResolvedUser>(`/api/sites/${siteId}/users/resolve`, {
    method: 'POST',
    site: siteId,
    body,
  })
  const [first] = users
  if (first === undefined) throw new Error('The service knows no such user.')
  return { kind: 'user', id: first.ppid, name: isPpid ? undefined : text }
}

/** Revokes, and repeats the same request until an answer says what happened. */
export async function revoke(siteId: string, target: Target, reason: string): Promise<void> {
  act ??= { key: newIdempotencyKey(), siteId }
  const { key } = act
  step.value = { at: 'sending', target, reason }
  for (let tries = 1; act?.key === key; tries++) {
    try {
      const done = await send(siteId, target, reason, key)
      step.value = { at: 'receipt', target, reason, done, propagation: undefined }
      await watchReceipt(siteId, done.seq)
      return
    } catch (fault) {
      if (!(fault instanceof NoAnswer)) {
        act = undefined
        step.value = { at: 'preview', target, fault: describe(fault) }
        return
      }
      step.value = { at: 'unknown', target, reason, tries }
      await sleep(Math.min(1000 * 2 ** tries, 8000))
    }
  }
}

function send(
  siteId: string,
  { kind, id, name }: Target,
  reason: string,
  idempotencyKey: string,
): Promise<Revocation> {
  const options = { method: 'POST', site: siteId, idempotencyKey, timeoutMs: 8000 } as const
  if (kind === 'credential')
    return call('/api/wallet/revoke', { ...options, body: { credential_id: id, site_id: siteId, reason } })
  // A name stands for all ids of the user, also for those at other issuers.
  const who = name === undefined ? { ppid: id } : { user_ref: name }
  return call('/api/wallet/revoke-user', { ...options, body: { ...who, site_id: siteId, reason } })
}

const FAST_MS = 250
const SLOW_MS = 2000

/** Loads the receipt again and again until every verifier has answered and the sheet is closed. */
async function watchReceipt(siteId: string, seq: number): Promise<void> {
  for (let n = 0; ; n++) {
    const current = step.value
    if (current.at !== 'receipt' || current.done.seq !== seq) return
    const propagation = await call<Propagation>(`/api/sites/${siteId}/propagation`, {
      site: siteId,
      query: { seq },
    }).catch(() => undefined)
    if (step.value !== current) return
    if (propagation !== undefined) step.value = { ...current, propagation }
    if (propagation !== undefined && isOver(propagation)) return
    await sleep(n < 40 ? FAST_MS : SLOW_MS)
  }
}

function isOver({ verifiers, denied_everywhere_at, committed_at }: Propagation): boolean {
  const isDenied = denied_everywhere_at !== null && denied_everywhere_at <= new Date().toISOString()
  return isDenied && committed_at !== undefined && verifiers.every(({ state }) => state === 'acknowledged')
}

export function describe(fault: unknown): string {
  if (fault instanceof CallProblem) return fault.message
  return fault instanceof Error ? fault.message : 'Something went wrong.'
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
