import { isOAuthIssuer, type SiteId } from '@countersign/core'
import { json, number, text } from '../../columns.ts'
import { rows, type Transaction } from '../../transaction.ts'
import type { IssuerKey } from './issuer-rows.ts'
import { requireIntact, updateRow } from './mac-rows.ts'

/**
 * Marks keys of a site's issuers as compromised, as every view of the log does. Compromise is
 * permanent and applies to the id of a key and to its material, whichever issuer lists it, so one
 * key can lead to others. The thumbprint names the material of an OAuth key. The caller holds the
 * lock on the site's issuers, and has just written `changed`.
 */
export function* markCompromisedKeys(siteId: SiteId, changed: string, atMs: number): Transaction<void> {
  const known = yield* rows(
    'SELECT issuer, key_id, multikey, at FROM compromised_keys WHERE site_id = $1',
    siteId,
  )
  // Usually nothing is compromised, and the other issuers need not be read.
  if (known.length === 0 && !(yield* hasCompromised(siteId, changed))) return
  const listed = yield* rows('SELECT * FROM issuers WHERE site_id = $1', siteId)
  for (const each of listed) yield* requireIntact('issuers', each)
  const names = new Map<string, number>()
  const materials = new Map<string, number>()
  const mark = (method: string, multikey: string, sinceMs: number) => {
    const isNew = !names.has(method) || !materials.has(multikey)
    if (!names.has(method)) names.set(method, sinceMs)
    if (!materials.has(multikey)) materials.set(multikey, sinceMs)
    return isNew
  }
  for (const row of known)
    mark(`${text(row, 'issuer')}#${text(row, 'key_id')}`, text(row, 'multikey'), number(row, 'at'))

  const states = listed.map((found) => ({
    found,
    issuer: text(found, 'issuer'),
    keys: json<IssuerKey[]>(found, 'keys'),
    changed: false,
  }))
  for (let learned = true; learned; ) {
    learned = false
    for (const state of states) {
      for (const [i, { retired_at, ...each }] of state.keys.entries()) {
        const method = `${state.issuer}#${each.id}`
        const material = toMaterial(state.issuer, each)
        const sinceMs =
          names.get(method) ?? materials.get(material) ?? (each.status === 'compromised' ? atMs : undefined)
        if (sinceMs === undefined) continue
        if (mark(method, material, sinceMs)) learned = true
        if (each.status === 'compromised') continue
        state.keys[i] = { ...each, status: 'compromised' }
        state.changed = true
      }
    }
  }

  for (const { found, issuer, keys, changed } of states) {
    if (changed) yield* updateRow('issuers', found, { keys: JSON.stringify(keys) })
    for (const each of keys) {
      const { id, status } = each
      const material = toMaterial(issuer, each)
      if (
        status !== 'compromised' ||
        known.some((row) => row.issuer === issuer && row.key_id === id && row.multikey === material)
      )
        continue
      yield* rows(
        'INSERT INTO compromised_keys (site_id, issuer, key_id, multikey, at) VALUES ($1, $2, $3, $4, $5)',
        siteId,
        issuer,
        id,
        material,
        names.get(`${issuer}#${id}`) ?? atMs,
      )
    }
  }
}

/** The same key can have another algorithm at another OAuth issuer. */
function toMaterial(issuer: string, { id, key }: IssuerKey): string {
  return isOAuthIssuer(issuer) ? id : key
}

function* hasCompromised(siteId: SiteId, issuer: string): Transaction<boolean> {
  const [found] = yield* rows('SELECT keys FROM issuers WHERE site_id = $1 AND issuer = $2', siteId, issuer)
  return (
    found !== undefined && json<IssuerKey[]>(found, 'keys').some(({ status }) => status === 'compromised')
  )
}
