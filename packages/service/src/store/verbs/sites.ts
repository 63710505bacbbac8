import { GENESIS_HASH, type SiteId, type SiteState } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import { lock, type Program, type Row, row, rows } from '../program.ts'
import type { Act, NewSite, Page, Placed, Site, SiteChanges } from '../store.ts'
import { auditDone } from './audit.ts'
import { appendEntry } from './entries.ts'
import { requireMasterKey } from './master-key.ts'

export function* createSite(site: NewSite, act: Act): Program<Placed<Site> | 'exists'> {
  const { siteId } = site
  const made = yield* row(
    `INSERT INTO sites
       (site_id, name, return_urls, bearer, holder_proof, credential_ttl_seconds_max, pairwise_secret_sealed, created_at, hosts)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (site_id) DO NOTHING RETURNING *`,
    siteId,
    site.name ?? null,
    JSON.stringify(site.returnUrls),
    site.bearer,
    site.holderProof,
    site.credentialTtlSecondsMax ?? null,
    site.pairwiseSecretSealed,
    act.atMs,
    listText(site.hosts),
  )
  if (made === undefined) return 'exists'
  yield* requireMasterKey(site.pairwiseSecretSealed)
  yield* rows('INSERT INTO heads (site_id, seq, hash) VALUES ($1, 0, $2)', siteId, GENESIS_HASH)
  const { seq, position } = yield* appendEntry(siteId, 'site.changed', stateOf(site), act.atMs)
  yield* auditDone({ siteId, action: 'site.create', target: siteId, outcome: 'done', seq, act })
  return { ...siteOf(made), position }
}

export function* changeSite(siteId: SiteId, changes: SiteChanges, act: Act): Program<Placed<Site> | undefined> {
  yield* lock(`site ${siteId}`)
  const before = yield* site(siteId)
  if (before === undefined) return undefined
  const { name, hosts, credentialTtlSecondsMax: ttlMax, ...rest } = changes
  const after: Site = {
    ...before,
    ...rest,
    name: name === undefined ? before.name : (name ?? undefined),
    hosts: hosts === undefined ? before.hosts : (hosts ?? undefined),
    credentialTtlSecondsMax: ttlMax === undefined ? before.credentialTtlSecondsMax : (ttlMax ?? undefined),
  }
  yield* rows(
    `UPDATE sites SET name = $2, return_urls = $3, bearer = $4, holder_proof = $5, credential_ttl_seconds_max = $6, hosts = $7
     WHERE site_id = $1`,
    siteId,
    after.name ?? null,
    JSON.stringify(after.returnUrls),
    after.bearer,
    after.holderProof,
    after.credentialTtlSecondsMax ?? null,
    listText(after.hosts),
  )
  const state = stateOf(after)
  // Verifiers need not hear of a new name.
  const concernsVerifiers = JSON.stringify(state) !== JSON.stringify(stateOf(before))
  const appended = concernsVerifiers ? yield* appendEntry(siteId, 'site.changed', state, act.atMs) : undefined
  yield* auditDone({
    siteId,
    action: 'site.change',
    target: siteId,
    outcome: JSON.stringify(after) === JSON.stringify(before) ? 'unchanged' : 'done',
    seq: appended?.seq,
    detail: { changed: Object.keys(changes) },
    act,
  })
  return { ...after, position: appended?.position ?? 0 }
}

export function* site(siteId: SiteId): Program<Site | undefined> {
  const found = yield* row('SELECT * FROM sites WHERE site_id = $1', siteId)
  return found && siteOf(found)
}

/** By name. */
export function* sites({ after, limit }: Page): Program<readonly Site[]> {
  const found = yield* rows('SELECT * FROM sites WHERE site_id > $1 ORDER BY site_id LIMIT $2', after ?? '', limit)
  return found.map(siteOf)
}

function siteOf(row: Row): Site {
  return {
    siteId: text(row, 'site_id') as SiteId,
    name: optionalText(row, 'name'),
    returnUrls: json(row, 'return_urls'),
    hosts: row.hosts === null ? undefined : json(row, 'hosts'),
    bearer: text(row, 'bearer') as Site['bearer'],
    holderProof: text(row, 'holder_proof') as Site['holderProof'],
    credentialTtlSecondsMax: optionalNumber(row, 'credential_ttl_seconds_max'),
    pairwiseSecretSealed: text(row, 'pairwise_secret_sealed'),
    createdAtMs: number(row, 'created_at'),
  }
}

function listText(list: readonly string[] | undefined): string | null {
  return list === undefined ? null : JSON.stringify(list)
}

function stateOf({ bearer, holderProof, credentialTtlSecondsMax }: NewSite): SiteState {
  return { bearer, holder_proof: holderProof, credential_ttl_seconds_max: credentialTtlSecondsMax ?? null }
}
