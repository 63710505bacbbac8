import { pathToFileURL } from 'node:url'
import type { CredentialId } from '../packages/core/src/credential/ids.ts'
import { parseCredentialId, parseSiteId } from '../packages/core/src/credential/ids.ts'
import { formatTime, parseTime } from '../packages/core/src/encoding/rfc3339.ts'
import { type CheckedEntry, checkEntry, createEntry, GENESIS_HASH } from '../packages/core/src/log/chain.ts'
import { type Entry, parseEntry } from '../packages/core/src/log/entry.ts'
import type { LogHead } from '../packages/core/src/log/position.ts'
import { SiteView } from '../packages/core/src/log/view.ts'

export interface Row {
  readonly name: string
  readonly value: number
  readonly unit: 'B' | 'ns' | 's' | 'ms'
}

const AT = '2026-11-14T12:00:00Z'
const AS_OF = {
  type: 'head',
  epoch: 'bench0000',
  hash: GENESIS_HASH,
  as_of: AT,
  max_age_seconds: 60,
  base: { seq: 0, hash: GENESIS_HASH },
} as const
const PROBES = 4096
const ROUNDS = 60

/**
 * Memory per revocation, look-ups of what is and what is not revoked beside a `Set` of ids, and a
 * million entries from text to applied.
 */
export async function benchView({ sizes = [1e3, 1e4, 1e5, 1e6, 1e7], entries = 1e6 } = {}): Promise<Row[]> {
  const rows: Row[] = []
  for (const size of sizes) rows.push(...benchSize(size))
  rows.push(...(await benchApply(entries)))
  return rows
}

function benchSize(size: number): Row[] {
  const siteId = required(parseSiteId('shop.example'))
  const before = memoryBytes()
  const view = new SiteView({ siteId })
  const load = view.beginLoad({ ...AS_OF, site_id: siteId, seq: size })
  load.add({
    type: 'site',
    bearer: 'on',
    holder_proof: 'optional',
    delegation: 'on',
    credential_ttl_seconds_max: null,
  })
  let longestMs = 0
  for (let i = 0; i < size; i++) {
    const line = { type: 'credential', credential_id: credentialId(i), revoked_at: AT } as const
    const start = performance.now()
    load.add(line)
    longestMs = Math.max(longestMs, performance.now() - start)
  }
  const {
    site_id: _,
    as_of: __,
    max_age_seconds: maxAgeSeconds,
    ...head
  } = { ...AS_OF, site_id: siteId, seq: size }
  load.commit({ ...head, siteId, asOfMs: 0, maxAgeSeconds })
  const bytes = memoryBytes() - before
  const name = (what: string) => `view of ${size.toLocaleString('en')}: ${what}`
  const known = probes((i) => Math.floor((i * size) / PROBES))
  const unknown = probes((i) => size + i)
  const rows: Row[] = [
    { name: name('memory per revocation'), value: bytes / size, unit: 'B' },
    {
      name: name('look-up, revoked'),
      value: lookUpNs(known, (id) => view.credentialRevocation(id) !== undefined, true),
      unit: 'ns',
    },
    {
      name: name('look-up, not revoked'),
      value: lookUpNs(unknown, (id) => view.credentialRevocation(id) !== undefined, false),
      unit: 'ns',
    },
    { name: name('longest single insertion'), value: longestMs, unit: 'ms' },
  ]
  if (size > 1e6) return rows
  const setBefore = memoryBytes()
  const set = new Set<string>()
  for (let i = 0; i < size; i++) set.add(credentialId(i))
  const setBytes = memoryBytes() - setBefore
  rows.push(
    { name: name('Set: memory per revocation'), value: setBytes / size, unit: 'B' },
    { name: name('Set: look-up, revoked'), value: lookUpNs(known, (id) => set.has(id), true), unit: 'ns' },
    {
      name: name('Set: look-up, not revoked'),
      value: lookUpNs(unknown, (id) => set.has(id), false),
      unit: 'ns',
    },
  )
  return rows
}

/**
 * Every round asks with strings that were not hashed yet, as ids out of a request are; V8 would
 * remember the hash of a string for `Set`.
 */
function lookUpNs(ids: readonly string[], ask: (id: CredentialId) => boolean, expected: boolean): number {
  let best = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const fresh = JSON.parse(JSON.stringify(ids)) as CredentialId[]
    const start = performance.now()
    for (const id of fresh) if (ask(id) !== expected) throw new Error(`a wrong answer for ${id}`)
    best = Math.min(best, performance.now() - start)
  }
  return (best * 1e6) / ids.length
}

async function benchApply(count: number): Promise<Row[]> {
  const siteId = required(parseSiteId('shop.example'))
  const texts: string[] = []
  let head: LogHead = { epoch: 'bench0000', seq: 0, hash: GENESIS_HASH }
  for (let i = 0; i < count; i++) {
    // Each entry at a time of its own: a reader that remembers the last time it read must not look
    // better than it is.
    const at = formatTime(required(parseTime(AT)) + i * 37)
    const body = { credential_id: credentialId(i), revoked_at: at }
    const entry = await createEntry({ siteId, kind: 'credential.revoked', body, at }, head)
    head = { epoch: entry.epoch, seq: entry.seq, hash: entry.hash }
    texts.push(JSON.stringify(entry))
  }
  const view = new SiteView({ siteId, entriesAreProven: true })
  const start = performance.now()
  for (const text of texts) {
    const checked = checkEntry(required(parseEntry(JSON.parse(text))) as Entry)
    applyOrThrow(view, required(checked instanceof Promise ? await checked : checked))
  }
  const seconds = (performance.now() - start) / 1000
  if (view.revocationCount !== count) throw new Error('not all entries were applied')
  return [
    { name: `${count.toLocaleString('en')} entries parsed, hashed and applied`, value: seconds, unit: 's' },
  ]
}

function applyOrThrow(view: SiteView, entry: CheckedEntry): void {
  const outcome = view.apply(entry)
  if (outcome !== 'applied') throw new Error(`an entry was not applied: ${outcome}`)
}

/** 31 characters, like those of a service: `cred_` and 26 of base32. */
function credentialId(i: number): CredentialId {
  const digits = Math.imul(i + 1, 0x9e3779b1) >>> 0
  return required(
    parseCredentialId(
      `cred_01k9x3v0h2e8${i.toString(32).padStart(7, '0')}${digits.toString(32).padStart(7, '0')}`,
    ),
  )
}

function probes(index: (i: number) => number): string[] {
  return Array.from({ length: PROBES }, (_, i) => credentialId(index(i)))
}

function memoryBytes(): number {
  const { gc } = globalThis as { gc?: () => void }
  gc?.()
  gc?.()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the benchmark made something malformed')
  return value
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const sizes = process.argv.slice(2).map(Number)
  const rows = await benchView(sizes.length > 0 ? { sizes } : {})
  console.table(rows.map(({ name, value, unit }) => ({ name, value: Number(value.toPrecision(3)), unit })))
}
