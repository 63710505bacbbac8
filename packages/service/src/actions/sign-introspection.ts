import {
  formatTime,
  type IntrospectionProof,
  type JsonObject,
  type SiteId,
  signIntrospection as sign,
} from '@countersign/core'
import { requireFreshView } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'

export interface SignedIntrospection<Facts> {
  readonly facts: Facts
  readonly proof: IntrospectionProof
}

/**
 * Introspects a token on behalf of a guard, and signs the result. `ask` is called after the head
 * was read, so the facts are at least as new as the head. Throws a Problem: `not_found` for an
 * unknown site, `revocation_view_stale` when this node must not answer for its store.
 */
export async function signIntrospection<Facts extends object>(
  deps: Pick<Deps, 'store' | 'views' | 'clock' | 'keys'>,
  { nonce, siteId, token }: { readonly nonce: string; readonly siteId: SiteId; readonly token: string },
  ask: () => Promise<Facts>,
): Promise<SignedIntrospection<Facts>> {
  const { epoch, seq, hash } = (await requireFreshView(deps, siteId)).head
  const asOf = formatTime(deps.views.age().asOfMs)
  const facts = await ask()
  const { kid, key } = deps.keys.feedKey(deps.clock.nowMs())
  const fields = {
    nonce,
    site_id: siteId,
    token_sha256: secretSha256(token),
    head: { epoch, seq, hash },
    as_of: asOf,
    kid,
  }
  return { facts, proof: await sign(facts as JsonObject, fields, key) }
}
