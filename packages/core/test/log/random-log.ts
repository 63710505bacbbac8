import fc from 'fast-check'
import { formatTime } from '../../src/encoding/rfc3339.ts'
import type { SiteView } from '../../src/log/view.ts'
import type { SiteData, TrustedKey } from '../../src/verify/trust.ts'
import {
  credential,
  issuer,
  multikey,
  NOW,
  OAUTH_KEYS,
  oauthIssuer,
  oauthState,
  type Saying,
  thumbprint,
  token,
  user,
} from './log-sample.ts'

/** Few names and few times, so that random entries often concern the same ones. */
const FEW = [0, 1, 2]
const KEY_IDS = ['key-1', 'key-2', 'key-3']

const time = fc.integer({ min: 0, max: 40 }).map((halves) => formatTime(NOW + halves * 500))
const n = fc.constantFrom(...FEW)
const keyId = fc.constantFrom(...KEY_IDS)
const key = fc.oneof(
  fc.record({
    id: keyId,
    key: n.map(multikey),
    status: fc.constantFrom('active' as const, 'active' as const, 'compromised' as const),
  }),
  fc.record({ id: keyId, key: n.map(multikey), status: fc.constant('retired' as const), retired_at: time }),
)
const keys = fc.uniqueArray(key, { selector: ({ id }) => id, maxLength: 3 })
const keyChange = fc.record({ issuer: n.map(issuer), key_id: keyId, at: time })
const ttlMax = fc.constantFrom(null, 3600)

const userSaying: fc.Arbitrary<Saying> = fc.oneof(
  fc.record({
    kind: fc.constant('user.revoked' as const),
    body: fc.record({ ppid: n.map(user), revoked_at: time }),
  }),
  fc.record({
    kind: fc.constant('user.reinstated' as const),
    body: fc.record({ ppid: n.map(user), reinstated_at: time }),
  }),
)

const cutOffSaying: fc.Arbitrary<Saying> = fc.oneof(
  fc.record({
    kind: fc.constant('user.signed_out' as const),
    body: fc.record({ ppid: n.map(user), before: time }),
  }),
  fc.record({
    kind: fc.constant('holder.revoked' as const),
    body: fc.record({ thumbprint: n.map(thumbprint), revoked_at: time }),
  }),
  fc.record({
    kind: fc.constant('issuer.cut_off' as const),
    body: fc.record({ issuer: fc.oneof(n.map(issuer), n.map(oauthIssuer)), before: time }),
  }),
  fc.record({ kind: fc.constant('site.cut_off' as const), body: fc.record({ before: time }) }),
)

const oauthSaying: fc.Arbitrary<Saying> = fc.oneof(
  fc.record({
    kind: fc.constant('oauth_issuer.trusted' as const),
    body: fc
      .tuple(n, fc.subarray(OAUTH_KEYS), fc.constantFrom(60, 3600))
      .map(([i, keys, ttl]) => oauthState(i, keys, { token_ttl_seconds_max: ttl })),
  }),
  fc.record({
    kind: fc.constant('issuer.distrusted' as const),
    body: fc.record({ issuer: n.map(oauthIssuer) }),
  }),
  fc.record({
    kind: fc.constantFrom('key.retired' as const, 'key.compromised' as const),
    body: fc.record({
      issuer: n.map(oauthIssuer),
      key_id: fc.constantFrom(...OAUTH_KEYS.map(({ id }) => id)),
      at: time,
    }),
  }) as fc.Arbitrary<Saying>,
)

const issuerSaying: fc.Arbitrary<Saying> = fc.oneof(
  fc.record({
    kind: fc.constant('issuer.trusted' as const),
    body: fc.record({
      issuer: n.map(issuer),
      keys,
      scope: fc.constantFrom(null, ['a'] as never),
      credential_ttl_seconds_max: ttlMax,
    }),
  }),
  fc.record({ kind: fc.constant('issuer.distrusted' as const), body: fc.record({ issuer: n.map(issuer) }) }),
  fc.record({
    kind: fc.constantFrom('key.retired' as const, 'key.compromised' as const),
    body: keyChange,
  }) as fc.Arbitrary<Saying>,
)

const anySaying: fc.Arbitrary<Saying> = fc.oneof(
  userSaying,
  issuerSaying,
  cutOffSaying,
  oauthSaying,
  fc.record({
    kind: fc.constant('credential.revoked' as const),
    body: fc.record({ credential_id: n.map(credential), revoked_at: time }),
  }),
  fc.record({
    kind: fc.constant('token.revoked' as const),
    body: fc.record({ token_sha256: n.map(token), revoked_at: time }),
  }),
  fc.record({
    kind: fc.constant('site.changed' as const),
    body: fc.record({
      bearer: fc.constantFrom('on' as const, 'off' as const),
      holder_proof: fc.constantFrom('optional' as const, 'required' as const),
      delegation: fc.constantFrom('on' as const, 'off' as const),
      credential_ttl_seconds_max: ttlMax,
    }),
  }),
)

export type TimedSaying = Saying & { readonly at: string }
const timed = (saying: fc.Arbitrary<Saying>): fc.Arbitrary<TimedSaying[]> =>
  fc.array(
    fc.tuple(saying, time).map(([what, at]) => ({ ...what, at })),
    { maxLength: 40, size: 'max' },
  )
export const anyLog = timed(anySaying)
export const userLog = timed(userSaying)
export const issuerLog = timed(issuerSaying)

/** Signing times before, between and after the times of random entries. */
export const CREATED = Array.from({ length: 24 }, (_, i) => NOW + (i - 1) * 1000)

/** All answers of a view for these names, in a form that can be compared. */
export function listAnswers(view: SiteView): unknown {
  return {
    settings: view.settings,
    credentials: FEW.map((i) => view.credentialRevocation(credential(i))),
    tokens: FEW.map((i) => view.tokenRevocation(token(i))),
    users: FEW.map((i) => CREATED.map((createdMs) => view.userRevocation(user(i), createdMs))),
    holders: FEW.map((i) => view.holderRevocation(thumbprint(i))),
    cutOffs: FEW.map((i) =>
      [issuer(i), oauthIssuer(i)].map((name) => CREATED.map((createdMs) => view.cutOff(name, createdMs))),
    ),
    oauthIssuers: FEW.map((i) => view.oauthIssuer(oauthIssuer(i))),
    issuers: FEW.map((i) => view.issuer(issuer(i))),
    issuerRevocations: FEW.map((i) => view.issuerRevocation(issuer(i))),
    keyRevocations: FEW.flatMap((i) => KEY_IDS.map((id) => view.keyRevocation(issuer(i), id))),
  }
}

/** All keys of all issuers that are trusted now. */
export function trustedKeys(site: SiteData): [string, TrustedKey][] {
  return FEW.flatMap((i) => [...(site.issuer(issuer(i))?.keys ?? [])])
}

export { FEW, KEY_IDS }
