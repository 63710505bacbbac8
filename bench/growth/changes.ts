import { hash } from 'node:crypto'
import { type EntryKind, formatTime } from '@countersign/core'
import { base32 } from '../../packages/service/src/keys/ids.ts'

/** One change of access, as an entry of the log and a row of the audit have it. */
export interface Change {
  readonly kind: EntryKind
  /** Canonical JSON. */
  readonly bodyJson: string
  readonly atMs: number
  readonly action: string
  /** The user, credential, token or holder key that is changed. */
  readonly target: string
}

type Kind = Extract<
  EntryKind,
  | 'user.revoked'
  | 'user.reinstated'
  | 'user.signed_out'
  | 'credential.revoked'
  | 'token.revoked'
  | 'holder.revoked'
>

/** Changes of one site that follow each other. Users are changed twice only within one block. */
export const BLOCK = 100

const ACTIONS: Readonly<Record<Kind, string>> = {
  'user.revoked': 'user.revoke',
  'user.reinstated': 'user.reinstate',
  'user.signed_out': 'user.sign_out',
  'credential.revoked': 'credential.revoke',
  'token.revoked': 'token.revoke',
  'holder.revoked': 'holder.revoke',
}

/** The user at this place of a block is reinstated later in it. */
const REINSTATED = [
  { user: 3, at: 60, again: undefined },
  { user: 7, at: 70, again: 80 },
] as const

/**
 * In every hundred changes: 49 users revoked (one of them a second time), 2 reinstated, 4 signed
 * out, 40 credentials revoked, 4 tokens, 1 holder key.
 */
function toKind(place: number): { readonly kind: Kind; readonly subject: number } {
  for (const { user, at, again } of REINSTATED) {
    if (place === at) return { kind: 'user.reinstated', subject: user }
    if (place === again) return { kind: 'user.revoked', subject: user }
  }
  if (place === 50) return { kind: 'holder.revoked', subject: place }
  if (place % 20 === 10 || place === 96) return { kind: 'token.revoked', subject: place }
  if (place % 25 === 24) return { kind: 'user.signed_out', subject: place }
  return { kind: place % 2 === 1 ? 'user.revoked' : 'credential.revoked', subject: place }
}

export interface ChangesOptions {
  readonly count: number
  readonly years: number
  /** The time of the last change, about. */
  readonly nowMs: number
}

const YEAR_MS = 365.25 * 86_400_000
const DAY_MS = 86_400_000

/** The time of the change with this number, from 0 to `count`; equal steps with some noise. */
export function toTimeMs(n: number, { count, years, nowMs }: ChangesOptions): number {
  const stepMs = (years * YEAR_MS) / count
  const noise = Math.floor(((Math.imul(n, 0x9e3779b1) >>> 0) / 2 ** 32) * Math.min(stepMs, 1000))
  return Math.floor(nowMs - (count - n) * stepMs) + noise
}

/** The changes with the numbers from `first`, at most a block. Equal numbers give equal changes. */
export function toBlock(first: number, options: ChangesOptions): readonly Change[] {
  const length = Math.min(BLOCK, options.count - first)
  return Array.from({ length }, (_, place) => toChange(first + place, options))
}

/** The change with this number. */
export function toChange(n: number, options: ChangesOptions): Change {
  const place = n % BLOCK
  const { kind, subject } = toKind(place)
  const atMs = toTimeMs(n, options)
  const target = toTarget(kind, n - place + subject, atMs)
  return { kind, target, atMs, action: ACTIONS[kind], bodyJson: toBody(kind, target, atMs) }
}

/** Bytes as random as those of real ids: a snapshot of numbers in a row would be much smaller. */
function noise(name: string, n: number): Buffer {
  return hash('sha256', `${name} ${n}`, 'buffer')
}

function toTarget(kind: Kind, n: number, atMs: number): string {
  switch (kind) {
    case 'user.revoked':
    case 'user.reinstated':
    case 'user.signed_out':
      return toPpid(n)
    case 'credential.revoked':
      return toCredentialId(n, atMs)
    case 'token.revoked':
      return noise('token', n).toString('hex')
    case 'holder.revoked':
      return noise('holder', n).toString('base64url')
  }
}

/** 52 characters of base32, as the service derives them. */
export function toPpid(n: number): string {
  return `did:service:ppid_${base32(noise('user', n))}`
}

/** A UUIDv7 as the service creates it, of a time at most 30 days before. */
export function toCredentialId(n: number, atMs: number): string {
  const bytes = noise('credential', n).subarray(0, 16)
  bytes.writeUIntBE(Math.max(0, atMs - (bytes.readUInt32BE(8) % (30 * DAY_MS))), 0, 6)
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  return `cred_${base32(bytes)}`
}

function toBody(kind: Kind, target: string, atMs: number): string {
  const at = formatTime(atMs)
  switch (kind) {
    case 'user.revoked':
      return `{"ppid":"${target}","revoked_at":"${at}"}`
    case 'user.reinstated':
      return `{"ppid":"${target}","reinstated_at":"${formatTime(toReinstatedMs(atMs))}"}`
    case 'user.signed_out':
      return `{"before":"${at}","ppid":"${target}"}`
    case 'credential.revoked':
      return `{"credential_id":"${target}","revoked_at":"${at}"}`
    case 'token.revoked':
      return `{"revoked_at":"${at}","token_sha256":"${target}"}`
    case 'holder.revoked':
      return `{"revoked_at":"${at}","thumbprint":"${target}"}`
  }
}

/** As the service rounds it: times in credentials are whole seconds. */
export function toReinstatedMs(atMs: number): number {
  return Math.ceil(atMs / 1000) * 1000
}
