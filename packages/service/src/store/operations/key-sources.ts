import { json, number, optionalNumber, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, lock, read, row, rows, type Transaction } from '../transaction.ts'
import { type Issuer, toIssuer } from './shared/issuer-rows.ts'
import { insertRow, intact, intactPage, requireIntact, updateRow } from './shared/mac-rows.ts'

/** A document that keys of issuers are fetched from; see `toKeySource`. */
export interface KeySource {
  readonly source: string
  /** When it was last fetched and accepted. Undefined: never, since it was first claimed. */
  readonly refreshedAtMs: number | undefined
}

const HOUR_MS = 3_600_000

/**
 * Allows the caller to fetch the document now. Undefined while another node has begun to within
 * `pauseMs`, so that all nodes together make one fetch. A node that ends meanwhile delays the next
 * fetch by the same time.
 */
export function* claimKeySource(
  source: string,
  atMs: number,
  pauseMs: number,
): Transaction<KeySource | undefined> {
  yield* lock(toLock(source))
  const found = yield* row('SELECT * FROM key_sources WHERE source = $1', source)
  if (found === undefined) {
    yield* insertRow('key_sources', { source, claimed_at: atMs, changes: '[]' })
    return { source, refreshedAtMs: undefined }
  }
  // The clocks of the nodes differ a little.
  if (Math.abs(atMs - number(found, 'claimed_at')) < pauseMs) return undefined
  yield* exec('UPDATE key_sources SET claimed_at = $2 WHERE source = $1', source, atMs)
  const written = yield* intact('key_sources', found)
  return { source, refreshedAtMs: written && optionalNumber(written, 'refreshed_at') }
}

/**
 * Records that the document was fetched. `held_back`: its keys have changed `changesMax` times
 * within an hour, so these must not be used. The source must have been claimed. Throws a
 * `RowForged` for a row that the service did not write.
 */
export function* admitKeySet(
  source: string,
  keysSha256: string,
  atMs: number,
  changesMax: number,
): Transaction<'same' | 'changed' | 'held_back'> {
  yield* lock(toLock(source))
  const found = yield* row('SELECT * FROM key_sources WHERE source = $1', source)
  if (found === undefined) throw new Error('a key source was refreshed before it was claimed')
  yield* requireIntact('key_sources', found)
  const isSame = found.keys_sha256 === keysSha256
  const changes = json<readonly number[]>(found, 'changes').filter((at) => at > atMs - HOUR_MS && at <= atMs)
  if (!isSame && changes.length >= changesMax) return 'held_back'
  yield* updateRow('key_sources', found, {
    refreshed_at: atMs,
    keys_sha256: keysSha256,
    changes: JSON.stringify(isSame || found.keys_sha256 === null ? changes : [...changes, atMs]),
  })
  return isSame ? 'same' : 'changed'
}

/**
 * By name. Rows that the service did not write are left out: their keys are as if never fetched.
 */
export const keySources = read(function* (page: Page): Transaction<readonly KeySource[]> {
  const found = yield* intactPage(
    'key_sources',
    page,
    (after, limit) =>
      rows('SELECT * FROM key_sources WHERE source > $1 ORDER BY source LIMIT $2', after, limit),
    (each) => text(each, 'source'),
  )
  return found.map((each) => ({
    source: text(each, 'source'),
    refreshedAtMs: optionalNumber(each, 'refreshed_at'),
  }))
})

/** When the documents with these names were last accepted. At most 200 names. */
export const keySourceTimes = read(function* (
  sources: readonly string[],
): Transaction<ReadonlyMap<string, number>> {
  const times = new Map<string, number>()
  if (sources.length === 0) return times
  const marks = sources.map((_, i) => `$${i + 1}`).join(', ')
  for (const found of yield* rows(`SELECT * FROM key_sources WHERE source IN (${marks})`, ...sources)) {
    const written = yield* intact('key_sources', found)
    const atMs = written && optionalNumber(written, 'refreshed_at')
    if (atMs !== undefined) times.set(text(found, 'source'), atMs)
  }
  return times
})

/**
 * Issuers of all sites whose documents are fetched again, by site and name; `after` is both, with a
 * space between.
 */
export const fetchedIssuers = read(function* ({ after = ' ', limit }: Page): Transaction<readonly Issuer[]> {
  const space = after.indexOf(' ')
  const found = yield* rows(
    `SELECT * FROM issuers WHERE fetched = 1 AND (site_id, issuer) > ($1, $2) ORDER BY site_id, issuer LIMIT $3`,
    after.slice(0, space),
    after.slice(space + 1),
    limit,
  )
  for (const each of found) yield* requireIntact('issuers', each)
  return found.map(toIssuer)
})

/** Issuers of this name at all sites whose documents are fetched again. */
export const fetchedIssuersNamed = read(function* (name: string): Transaction<readonly Issuer[]> {
  const found = yield* rows('SELECT * FROM issuers WHERE fetched = 1 AND issuer = $1 ORDER BY site_id', name)
  for (const each of found) yield* requireIntact('issuers', each)
  return found.map(toIssuer)
})

function toLock(source: string): string {
  return `key source ${source}`
}
