import {
  formatTime,
  type IntrospectionProof,
  type IntrospectionProofFields,
  type JsonObject,
  type PrivateKey,
  sha256Hex,
  signIntrospection,
} from '@countersign/core'
import type { TestSite } from '../src/testing/test-site.ts'

/** What is wrong with an answer of introspection that is good otherwise. */
export interface Forgery {
  /** What the proof is bound to, before it is signed. */
  readonly fields?: Partial<IntrospectionProofFields>
  /** Signs in place of the feed key. */
  readonly key?: PrivateKey
  /** Changes the proof after it was signed. */
  readonly after?: Partial<IntrospectionProof>
  /** Leaves the proof out. */
  readonly isUnsigned?: boolean
}

/**
 * The answer to a request for introspection with these facts, signed as the service of the site
 * would.
 */
export async function signedAnswer(
  site: TestSite,
  init: RequestInit,
  facts: JsonObject,
  forgery: Forgery = {},
): Promise<Response> {
  const { token, nonce } = JSON.parse(String(init.body)) as { token: string; nonce: string }
  const { epoch, seq, hash } = site.log.head
  const fields: IntrospectionProofFields = {
    nonce,
    site_id: site.log.view.siteId,
    token_sha256: await sha256Hex(token),
    head: { epoch, seq, hash },
    as_of: formatTime(site.clock.nowMs),
    kid: site.feedKey.kid,
    ...forgery.fields,
  }
  const proof = {
    ...(await signIntrospection(facts, fields, forgery.key ?? site.feedKey.key)),
    ...forgery.after,
  }
  return Response.json(forgery.isUnsigned ? facts : { ...facts, proof })
}
