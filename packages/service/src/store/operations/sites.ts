import { GENESIS_HASH, type SettingsState, type SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import type { EntryPosition, Logged } from '../logged.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { appendEntry } from './shared/append-entry.ts'
import {
  type BrandChanges,
  changeBrand,
  NO_BRAND,
  readBrand,
  SITES_WITH_BRANDS,
  type SiteBrand,
} from './shared/brand-rows.ts'
import { requireCurrentSite } from './shared/current-rows.ts'
import { createRowMac, insertNewRow, requireIntact, updateRow } from './shared/mac-rows.ts'
import { requireMasterKey } from './shared/master-key.ts'
import { recordAudit } from './shared/record-audit.ts'

export interface NewSite {
  readonly siteId: SiteId
  readonly name: string | undefined
  readonly returnUrls: readonly string[]
  /** Hosts for which forward-auth accepts holder proofs; undefined: only the name of the site. */
  readonly hosts?: readonly string[] | undefined
  readonly bearer: 'on' | 'off'
  readonly holderProof: 'optional' | 'required'
  readonly delegation: 'on' | 'off'
  readonly credentialTtlSecondsMax: number | undefined
  /** How long signed heads of the site are valid. Default 60. */
  readonly maxStalenessSecondsMax?: number
  /** The ppids of its users are derived from it; sealed by the caller. */
  readonly pairwiseSecretSealed: string
}

export interface Site extends NewSite {
  readonly maxStalenessSecondsMax: number
  /** How long heads before that entry were valid; undefined when the setting was never lowered. */
  readonly stalenessBefore: { readonly seconds: number; readonly seq: number } | undefined
  readonly brand: SiteBrand
  readonly createdAtMs: number
}

/** A site after a change. */
export interface ChangedSite extends Site {
  /** The entry of the change; undefined when it does not concern verifiers. */
  readonly entry: EntryPosition | undefined
}

export type SiteChanges = Partial<
  Pick<NewSite, 'returnUrls' | 'bearer' | 'holderProof' | 'delegation' | 'maxStalenessSecondsMax'>
> &
  BrandChanges & {
    readonly name?: string | null
    readonly hosts?: readonly string[] | null
    readonly credentialTtlSecondsMax?: number | null
  }

/** As in the contract, which the writer thread does not load. */
const STALENESS_SECONDS_DEFAULT = 60

/** Creates a site with the first entry of its log. */
export function* createSite(
  site: NewSite,
  context: AuditContext,
  look: BrandChanges = {},
): Transaction<Logged<Site> | 'exists'> {
  const { siteId } = site
  const created: Row = {
    site_id: siteId,
    ...toSettings(site),
    pairwise_secret_sealed: site.pairwiseSecretSealed,
    created_at: context.atMs,
    // The entry below is the first in the log of the site.
    entry_seq: 1,
  }
  if (!(yield* insertNewRow('sites', created))) return 'exists'
  yield* requireMasterKey(site.pairwiseSecretSealed)
  yield* insertHead(siteId)
  const { seq, position } = yield* appendEntry(siteId, 'site.changed', toState(site), context.atMs)
  const brand = yield* changeBrand(siteId, NO_BRAND, look)
  yield* recordAudit({ siteId, action: 'site.create', target: siteId, outcome: 'done', seq, context })
  return { ...toSite(created, brand), position }
}

/**
 * `knownSeq`, here and in other operations: the last entry about this row that the caller's view of
 * the log has, see `LiveViews.lastEntryAbout`. Throws a `RowForged` for a row that is older than
 * that, or than the entries in the store: another program has put it back.
 */
export function* changeSite(
  siteId: SiteId,
  changes: SiteChanges,
  context: AuditContext,
  knownSeq = 0,
): Transaction<Logged<ChangedSite> | undefined> {
  yield* lock(`site ${siteId}`)
  const found = yield* findSiteRow(siteId)
  if (found === undefined) return undefined
  yield* requireCurrentSite(found, knownSeq)
  const before = toSite(found, yield* readBrand(found))
  const { name, hosts, credentialTtlSecondsMax: ttlMax, ...others } = changes
  const { logo, accent, supportUrl, privacyUrl, ...rest } = others
  const after: Site = {
    ...before,
    ...rest,
    name: name === undefined ? before.name : (name ?? undefined),
    hosts: hosts === undefined ? before.hosts : (hosts ?? undefined),
    credentialTtlSecondsMax: ttlMax === undefined ? before.credentialTtlSecondsMax : (ttlMax ?? undefined),
    brand: yield* changeBrand(siteId, before.brand, { logo, accent, supportUrl, privacyUrl }),
  }
  const state = toState(after)
  // A new name does not concern verifiers.
  const isAgeChanged = after.maxStalenessSecondsMax !== before.maxStalenessSecondsMax
  // Nodes read the new age of heads when they apply the entry, so that no later head has the old
  // one.
  const concernsVerifiers = isAgeChanged || JSON.stringify(state) !== JSON.stringify(toState(before))
  const appended = concernsVerifiers
    ? yield* appendEntry(siteId, 'site.changed', state, context.atMs)
    : undefined
  const stalenessBefore =
    isAgeChanged && appended ? toStalenessBefore(before, after, appended.seq) : before.stalenessBefore
  yield* updateRow('sites', found, {
    ...toSettings({ ...after, stalenessBefore }),
    ...(appended && { entry_seq: appended.seq }),
  })
  yield* recordAudit({
    siteId,
    action: 'site.change',
    target: siteId,
    outcome: JSON.stringify(after) === JSON.stringify(before) ? 'unchanged' : 'done',
    seq: appended?.seq,
    detail: { changed: Object.keys(changes) },
    context,
  })
  const entry = appended && { epoch: appended.epoch, seq: appended.seq, atMs: context.atMs }
  return { ...after, stalenessBefore, position: appended?.position ?? 0, entry }
}

/**
 * Receipts use the higher age until the last heads with it have expired. After several changes the
 * highest is kept.
 */
function toStalenessBefore(before: Site, after: Site, seq: number): Site['stalenessBefore'] {
  const seconds = Math.max(before.maxStalenessSecondsMax, before.stalenessBefore?.seconds ?? 0)
  return seconds > after.maxStalenessSecondsMax ? { seconds, seq } : undefined
}

/**
 * Throws a `RowForged` for a row that the service did not write, as `sites` does: a site must not
 * be served with settings of unknown origin.
 */
export const site = read(function* (siteId: SiteId): Transaction<Site | undefined> {
  const found = yield* findSiteRow(siteId)
  return found && toSite(found, yield* readBrand(found))
})

function* findSiteRow(siteId: SiteId): Transaction<Row | undefined> {
  const found = yield* row(`${SITES_WITH_BRANDS} WHERE s.site_id = $1`, siteId)
  return found && (yield* requireIntact('sites', found))
}

/** By id. */
export const sites = read(function* ({ after, limit }: Page): Transaction<readonly Site[]> {
  const found = yield* rows(
    `${SITES_WITH_BRANDS} WHERE s.site_id > $1 ORDER BY s.site_id LIMIT $2`,
    after ?? '',
    limit,
  )
  const listed: Site[] = []
  for (const each of found) listed.push(toSite(yield* requireIntact('sites', each), yield* readBrand(each)))
  return listed
})

/** In the current epoch, before the first entry. */
function* insertHead(siteId: SiteId): Transaction<void> {
  const log = yield* row('SELECT epoch FROM log WHERE one = 1')
  if (log === undefined) throw new Error('there is no log')
  const head = { site_id: siteId, seq: 0, hash: GENESIS_HASH }
  const mac = yield* createRowMac('heads', { ...head, epoch: text(log, 'epoch') })
  yield* exec(
    'INSERT INTO heads (site_id, seq, hash, mac) VALUES ($1, $2, $3, $4)',
    siteId,
    head.seq,
    head.hash,
    mac,
  )
}

function toSettings(site: NewSite & Partial<Pick<Site, 'stalenessBefore'>>): Row {
  return {
    name: site.name ?? null,
    return_urls: JSON.stringify(site.returnUrls),
    bearer: site.bearer,
    holder_proof: site.holderProof,
    delegation: site.delegation,
    credential_ttl_seconds_max: site.credentialTtlSecondsMax ?? null,
    hosts: toListText(site.hosts),
    max_staleness_seconds_max: site.maxStalenessSecondsMax ?? STALENESS_SECONDS_DEFAULT,
    staleness_before_seconds: site.stalenessBefore?.seconds ?? 0,
    staleness_lowered_seq: site.stalenessBefore?.seq ?? 0,
  }
}

function toSite(row: Row, brand: SiteBrand): Site {
  return {
    siteId: text(row, 'site_id') as SiteId,
    name: optionalText(row, 'name'),
    returnUrls: json(row, 'return_urls'),
    hosts: row.hosts === null ? undefined : json(row, 'hosts'),
    bearer: text(row, 'bearer') as Site['bearer'],
    holderProof: text(row, 'holder_proof') as Site['holderProof'],
    delegation: text(row, 'delegation') as Site['delegation'],
    credentialTtlSecondsMax: optionalNumber(row, 'credential_ttl_seconds_max'),
    pairwiseSecretSealed: text(row, 'pairwise_secret_sealed'),
    maxStalenessSecondsMax: number(row, 'max_staleness_seconds_max'),
    stalenessBefore:
      number(row, 'staleness_before_seconds') === 0
        ? undefined
        : { seconds: number(row, 'staleness_before_seconds'), seq: number(row, 'staleness_lowered_seq') },
    brand,
    createdAtMs: number(row, 'created_at'),
  }
}

function toListText(list: readonly string[] | undefined): string | null {
  return list === undefined ? null : JSON.stringify(list)
}

function toState({ bearer, holderProof, delegation, credentialTtlSecondsMax }: NewSite): SettingsState {
  return {
    bearer,
    holder_proof: holderProof,
    delegation,
    credential_ttl_seconds_max: credentialTtlSecondsMax ?? null,
  }
}
