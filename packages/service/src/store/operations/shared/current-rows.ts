import type { SiteId } from '@countersign/core'
import { json, number, optionalNumber, text, toSiteId } from '../../columns.ts'
import { RowForged } from '../../errors.ts'
import { KIND_STATES_ROW } from '../../migrations/0014-cut-offs.ts'
import { type Row, reportForged, row, type Transaction } from '../../transaction.ts'

/** The part of the state of a site in a checkpoint that is read here: see `CheckpointState`. */
interface LastSeqs {
  readonly last_seqs: Readonly<Record<string, number>>
}

/**
 * The seq of the last entry about an issuer, or about the settings of the site itself; 0 when there
 * is none.
 */
function* lastEntryAbout(siteId: SiteId, issuer?: string): Transaction<number> {
  // `replace` finds text in both stores, case-sensitive and without wildcards. Bodies are canonical
  // JSON, and no issuer contains a quote. The body of an OAuth issuer may require a claim that is
  // called issuer, but only its own name is followed by its keys.
  const about =
    issuer === undefined
      ? `e.kind = $2`
      : `e.kind <> 'site.changed' AND replace(e.body, $2, '') <> e.body
         AND (e.kind <> 'oauth_issuer.trusted' OR replace(e.body, $2 || ',"keys":[', '') <> e.body)`
  const found = yield* row(
    `SELECT MAX(e.seq) AS seq FROM entries e JOIN log ON log.epoch = e.epoch
     WHERE log.one = 1 AND e.site_id = $1 AND e.${KIND_STATES_ROW} AND ${about}`,
    siteId,
    issuer === undefined ? 'site.changed' : `"issuer":${JSON.stringify(issuer)}`,
  )
  return Math.max((found && optionalNumber(found, 'seq')) ?? 0, yield* lastSeqInCheckpoint(siteId, issuer))
}

/** Of entries up to the checkpoint, which may have been removed. */
function* lastSeqInCheckpoint(siteId: SiteId, issuer = ''): Transaction<number> {
  const site = yield* row(
    `SELECT s.state FROM checkpoint_sites s JOIN checkpoint c ON c.one = 1 JOIN log ON log.one = 1 AND log.epoch = c.epoch
     WHERE s.site_id = $1`,
    siteId,
  )
  return (site && json<LastSeqs>(site, 'state').last_seqs[issuer]) ?? 0
}

/**
 * Throws a `RowForged` for a row that was put back to its state before a later entry. Its MAC is
 * valid, but a change would append its content. `knownSeq` is the last such entry that the caller
 * has read: unlike the entries in the store, it cannot be changed from outside.
 */
export function* requireCurrentSite(found: Row, knownSeq: number): Transaction<void> {
  const siteId = toSiteId(found)
  if (number(found, 'entry_seq') < Math.max(knownSeq, yield* lastEntryAbout(siteId)))
    yield* reportForgedRow('sites', siteId)
}

/** The same for an issuer. */
export function* requireCurrentIssuer(found: Row, knownSeq: number): Transaction<void> {
  const [siteId, issuer] = [toSiteId(found), text(found, 'issuer')]
  if (number(found, 'entry_seq') < Math.max(knownSeq, yield* lastEntryAbout(siteId, issuer)))
    yield* reportForgedRow('issuers', `${siteId} ${issuer}`)
}

/**
 * Issuers are never removed. When the log names one whose row is missing, another program removed
 * it: trusting it now would undo what the site has said of it since, so this throws a `RowForged`.
 */
export function* requireNewIssuer(siteId: SiteId, issuer: string, knownSeq: number): Transaction<void> {
  if (Math.max(knownSeq, yield* lastEntryAbout(siteId, issuer)) > 0)
    yield* reportForgedRow('issuers', `${siteId} ${issuer}`)
}

function* reportForgedRow(table: string, key: string): Transaction<never> {
  yield* reportForged({ table, key })
  throw new RowForged(table, key)
}
