import { encodeBase64url } from '../encoding/base64url.ts'
import { formatTime } from '../encoding/rfc3339.ts'
import type { KeyState } from './entry.ts'
import { type IssuerRow, type IssuerTable, splitMethod } from './issuer-table.ts'
import {
  COMPROMISED_KEYS_MAX,
  type CompromisedKey,
  type CutOffLine,
  type IssuerLine,
  type OAuthIssuerLine,
  type OAuthKeyLine,
  type SiteLine,
} from './snapshot.ts'
import type { SiteView } from './view.ts'

type StateLine = SiteLine | IssuerLine | OAuthIssuerLine | OAuthKeyLine | CutOffLine

/**
 * The lines of a snapshot about the site, its issuers and their cut-offs. The revocations are not
 * included, because a view stores only their hashes; they come from the log. An issuer with more
 * compromised keys than fit into one line gets several lines.
 */
export function toStateLines({
  settings,
  issuers,
  oauthIssuers,
  cutOffs,
  subjectKey,
}: SiteView): readonly StateLine[] {
  const { bearer, holderProof, delegation, credentialTtlSecondsMax, bearerOffMs } = settings
  const site: SiteLine = {
    type: 'site',
    bearer,
    holder_proof: holderProof,
    delegation,
    credential_ttl_seconds_max: credentialTtlSecondsMax ?? null,
    ...(bearerOffMs === undefined ? {} : { bearer_off_at: formatTime(bearerOffMs) }),
    ...(subjectKey === undefined ? {} : { subject_key: encodeBase64url(subjectKey) }),
  }
  issuers.applyCompromisedKeys()
  const compromised = groupCompromised(issuers)
  const lines: StateLine[] = [site]
  for (const { state, distrustedMs } of oauthIssuers.rows.values()) {
    const distrusted_at = distrustedMs === undefined ? null : formatTime(distrustedMs)
    lines.push({ type: 'oauth_issuer', state, distrusted_at })
  }
  for (const [key_id, sinceMs] of oauthIssuers.compromised)
    lines.push({ type: 'oauth_key', key_id, compromised_at: formatTime(sinceMs) })
  for (const [issuer, beforeMs] of cutOffs)
    lines.push({ type: 'cut_off', issuer: issuer === '' ? null : issuer, before: formatTime(beforeMs) })
  for (const issuer of new Set([...issuers.rows.keys(), ...compromised.keys()])) {
    const keys = compromised.get(issuer) ?? []
    for (let from = 0; from === 0 || from < keys.length; from += COMPROMISED_KEYS_MAX) {
      lines.push(
        toIssuerLine(issuer, issuers.rows.get(issuer), keys.slice(from, from + COMPROMISED_KEYS_MAX)),
      )
    }
  }
  return lines
}

function toIssuerLine(
  issuer: string,
  known: IssuerRow | undefined,
  compromised: readonly CompromisedKey[],
): IssuerLine {
  const { keys, scope, credentialTtlSecondsMax } = known?.state ?? {}
  const state = {
    type: 'issuer',
    issuer,
    keys: [...(keys?.values() ?? [])].map(
      ({ id, key, status, changedAtMs }): KeyState =>
        status === 'retired'
          ? { id, key: key.multikey, status, retired_at: formatTime(changedAtMs ?? 0) }
          : { id, key: key.multikey, status },
    ),
    scope: scope === undefined ? null : [...scope],
    credential_ttl_seconds_max: credentialTtlSecondsMax ?? null,
  } as const
  if (known?.isTrusted === true) return { ...state, status: 'trusted', compromised }
  const sinceMs = known?.distrustedMs
  return {
    ...state,
    status: 'distrusted',
    distrusted_at: sinceMs === undefined ? null : formatTime(sinceMs),
    compromised,
  }
}

/** The compromised keys by issuer. A key that is still listed comes with its Multikey. */
function groupCompromised({
  rows,
  compromisedMethods,
  compromisedKeys,
}: IssuerTable): Map<string, CompromisedKey[]> {
  const found = new Map<string, CompromisedKey[]>()
  const left = new Map(compromisedKeys)
  const add = (method: string, key: string | null, sinceMs: number) => {
    const [issuer, key_id] = splitMethod(method)
    const list = found.get(issuer) ?? []
    list.push({ key_id, key, at: formatTime(sinceMs) })
    found.set(issuer, list)
  }
  let first: readonly [method: string, sinceMs: number] | undefined
  for (const [method, sinceMs] of compromisedMethods) {
    if (first === undefined || sinceMs < first[1]) first = [method, sinceMs]
    const multikey = rows.get(splitMethod(method)[0])?.state.keys.get(method)?.key.multikey
    if (multikey !== undefined) left.delete(multikey)
    add(method, multikey ?? null, sinceMs)
  }
  // Key material that is not listed any more stays compromised under every name. It is written next
  // to the oldest name, whose time it cannot change.
  if (first !== undefined) for (const [multikey, sinceMs] of left) add(first[0], multikey, sinceMs)
  return found
}
