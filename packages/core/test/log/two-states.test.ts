import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PermissionId, Scope } from '../../src/credential/ids.ts'
import type { CheckedEntry } from '../../src/log/chain.ts'
import { PENDING_ENTRIES_MAX } from '../../src/log/pending-entries.ts'
import { SiteView } from '../../src/log/view.ts'
import type { TokenFacts } from '../../src/verify/token.ts'
import { findTokenScope } from '../../src/verify/token-checks.ts'
import type { SiteData } from '../../src/verify/trust.ts'
import { runs } from '../runs.ts'
import {
  activeKey,
  at,
  BODIES,
  createLog,
  createView,
  credential,
  issuer,
  issuerState,
  msAt,
  NOW,
  revocations,
  type Saying,
  SEED,
  SITE,
  toHead,
  token,
  user,
} from './log-sample.ts'
import { anyLog, CREATED, FEW, issuerLog, KEY_IDS, userLog } from './random-log.ts'

const CLOCKS = { wallMs: msAt(100), monotonicMs: 0 }

describe('pending entries', () => {
  const trusted: Saying = { kind: 'issuer.trusted', body: issuerState(1, [activeKey('key-1', 1)]) }
  const open: Saying = { kind: 'site.changed', body: BODIES['site.changed'] }
  const strict: Saying = {
    kind: 'site.changed',
    body: { bearer: 'off', holder_proof: 'required', delegation: 'on', credential_ttl_seconds_max: 60 },
  }

  test('I-23 revoke on arrival and grant only with a proof', async () => {
    const { view, prove } = await following([strict], [trusted, open, ...revocations(1)])
    expect(view.head.seq).toBe(4)
    expect(view.provenHead?.seq).toBe(1)
    expect(view.credentialRevocation(credential(0))).toBeDefined()
    expect(view.issuer(issuer(1))).toBeUndefined()
    expect(view.settings).toMatchObject({
      bearer: 'off',
      holderProof: 'required',
      credentialTtlSecondsMax: 60,
    })
    expect(prove()).toBe('proven')
    expect(view.provenHead?.seq).toBe(4)
    expect(view.issuer(issuer(1))).toBeDefined()
    expect(view.settings).toMatchObject({
      bearer: 'on',
      holderProof: 'optional',
      credentialTtlSecondsMax: undefined,
    })
    expect(view.credentialRevocation(credential(0))).toBeDefined()
  })

  test('A253 neither reinstate a user nor bring a distrusted issuer or a retired key back', async () => {
    const { view, prove } = await following(
      [
        open,
        trusted,
        { kind: 'user.revoked', body: { ppid: user(1), revoked_at: at(1) } },
        { kind: 'key.retired', body: { issuer: issuer(1), key_id: 'key-1', at: at(1) } },
        { kind: 'issuer.trusted', body: issuerState(2, [activeKey('key-1', 2)]) },
        { kind: 'issuer.distrusted', body: { issuer: issuer(2) } },
      ],
      [
        { kind: 'user.reinstated', body: { ppid: user(1), reinstated_at: at(2) } },
        trusted,
        { kind: 'issuer.trusted', body: issuerState(2, [activeKey('key-1', 2)]) },
      ],
    )
    const answers = () => [
      view.userRevocation(user(1), msAt(10)) === undefined,
      view.issuer(issuer(1))?.keys.get(`${issuer(1)}#key-1`)?.status === 'active',
      view.issuer(issuer(2)) !== undefined,
    ]
    expect(answers()).toEqual([false, false, false])
    expect(view.userRevocation(user(1), msAt(1))).toBeDefined()
    prove()
    expect(answers()).toEqual([true, true, true])
    expect(view.userRevocation(user(1), msAt(1))).toBeDefined()
  })

  test('A253 that grant and revoke at once do only the latter: another key under the same name, other scopes, another issuer life', async () => {
    const scope = (...names: string[]) => names as Scope[]
    const { view, prove } = await following(
      [
        open,
        {
          kind: 'issuer.trusted',
          body: issuerState(1, [activeKey('key-1', 1), activeKey('key-2', 2)], {
            scope: scope('a', 'b'),
            credential_ttl_seconds_max: 60,
          }),
        },
      ],
      [
        {
          kind: 'issuer.trusted',
          body: issuerState(1, [activeKey('key-1', 9), activeKey('key-2', 2), activeKey('key-3', 3)], {
            scope: scope('b', 'c'),
          }),
        },
      ],
    )
    const known = view.issuer(issuer(1))
    expect([...(known?.keys.keys() ?? [])]).toEqual([`${issuer(1)}#key-2`])
    expect([...(known?.scope ?? [])]).toEqual(['b'])
    expect(known?.credentialTtlSecondsMax).toBe(60)
    prove()
    expect(view.issuer(issuer(1))?.keys.size).toBe(3)
  })

  test('leave the issuers of the proven state untouched', async () => {
    const { view } = await following(
      [open, trusted],
      [{ kind: 'issuer.distrusted', body: { issuer: issuer(1) } }],
    )
    expect(view.issuer(issuer(1))).toBeUndefined()
    expect(view.issuers.trusted(issuer(1))).toBeDefined()
  })

  test('keep the key objects of the proven state, so that remembered signatures stay valid', async () => {
    const { view, prove } = await following(
      [open, trusted],
      [{ kind: 'issuer.trusted', body: issuerState(1, [activeKey('key-1', 1), activeKey('key-2', 2)]) }],
    )
    const findKey = () => view.issuer(issuer(1))?.keys.get(`${issuer(1)}#key-1`)?.key
    const before = view.issuers.trusted(issuer(1))?.keys.get(`${issuer(1)}#key-1`)?.key
    expect(findKey()).toBe(before)
    prove()
    expect(findKey()).toBe(before)
  })

  test('are compared one by one when they come again: another hash anywhere among them is a fork', async () => {
    const { view, entries } = await following([open], revocations(3))
    for (const entry of entries) expect(view.apply(entry)).toBe('known')
    const others = await createLog(
      [{ ...revocations(1)[0], at: at(77) } as Saying],
      toHead(entries[0] as CheckedEntry),
    )
    expect(view.apply(others[0] as CheckedEntry)).toBe('fork')
  })

  test(`are at most ${PENDING_ENTRIES_MAX}`, { tags: 'long' }, async () => {
    const { view, entries, prove } = await following([open], revocations(PENDING_ENTRIES_MAX))
    const [next] = (await createLog([trusted], toHead(entries.at(-1) as CheckedEntry))) as [CheckedEntry]
    expect(view.trusted).toBe(true)
    expect(view.apply(next)).toBe('too_many_pending')
    expect(view.ageMs(CLOCKS)).toBe(Infinity)
    const again = await following([open], revocations(PENDING_ENTRIES_MAX))
    expect(again.prove()).toBe('proven')
    expect(again.view.apply(next)).toBe('applied')
    expect(prove()).toBe('too_many_pending')
  })

  test('are contradicted by a newer proof of the head before them', async () => {
    const { view, entries } = await following([open], [trusted])
    const proof = { siteId: SITE, ...toHead(entries[0] as CheckedEntry), maxAgeSeconds: 60 }
    expect(view.confirmHead({ ...proof, asOfMs: msAt(-1) }, CLOCKS)).toBe('outdated')
    expect(view.confirmHead({ ...proof, asOfMs: msAt(50) }, CLOCKS)).toBe('lower_head')
  })
})

describe('the bound on the age', () => {
  test('is that of the last proven head', async () => {
    const [entry] = (await createLog(revocations(1))) as [CheckedEntry]
    const view = new SiteView({ siteId: SITE })
    view.apply(entry)
    expect(view.maxAgeMs).toBe(Infinity)
    const proof = { siteId: SITE, ...toHead(entry), asOfMs: msAt(0) }
    view.confirmHead({ ...proof, maxAgeSeconds: 20 }, CLOCKS)
    expect(view.maxAgeMs).toBe(20_000)
    view.confirmHead({ ...proof, maxAgeSeconds: 90 }, CLOCKS)
    expect(view.maxAgeMs).toBe(20_000)
    view.confirmHead({ ...proof, asOfMs: msAt(1), maxAgeSeconds: 90 }, CLOCKS)
    expect(view.maxAgeMs).toBe(90_000)
  })
})

/** A simple and slow model of the rule: one view for each of the two logs, and both are asked. */
describe('a view with pending entries', () => {
  test('accepts exactly what both the proven and the latest state accept, after every entry and every proof', {
    tags: 'long',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc
          .oneof(anyLog, issuerLog, userLog)
          .chain((log) => fc.tuple(fc.constant(log), fc.array(fc.boolean(), { minLength: log.length }))),
        async ([sayings, proofs]) => {
          const entries = await createLog([
            { kind: 'site.changed', body: BODIES['site.changed'] },
            ...sayings,
          ])
          const view = new SiteView({ siteId: SITE, seed: SEED })
          let provenSeq = 0
          for (const [i, entry] of entries.entries()) {
            expect(view.apply(entry)).toBe('applied')
            if (i === 0 || proofs[i - 1]) {
              expect(
                view.confirmHead(
                  { siteId: SITE, ...toHead(entry), asOfMs: NOW + i, maxAgeSeconds: 60 },
                  CLOCKS,
                ),
              ).toBe('proven')
              provenSeq = entry.seq
            }
            if (i % 4 !== 0 && i !== entries.length - 1) continue
            const naive = [
              createView(entries.slice(0, provenSeq)),
              createView(entries.slice(0, entry.seq)),
            ] as const
            expect(acceptedBy(view)).toEqual(acceptedByBoth(...naive))
            expect(revokedBy(view)).toEqual(
              revokedBy(naive[0]).map((isRevoked, n) => isRevoked || revokedBy(naive[1])[n]),
            )
          }
        },
      ),
      { numRuns: runs(60) },
    )
  })
})

/** A view in which the first entries are proven and the others only received. */
async function following(proven: readonly Saying[], pending: readonly Saying[]) {
  const entries = await createLog([...proven, ...pending])
  const view = new SiteView({ siteId: SITE, seed: SEED })
  const prove = (asOfMs = msAt(1)) =>
    view.confirmHead({ siteId: SITE, ...view.head, asOfMs, maxAgeSeconds: 60 }, CLOCKS)
  for (const entry of entries.slice(0, proven.length)) view.apply(entry)
  expect(prove(msAt(0))).toBe('proven')
  for (const entry of entries.slice(proven.length)) expect(view.apply(entry)).toBe('applied')
  return { view, entries, prove }
}

/** Requests that differ in issuer, key, time, user and scope. */
const REQUESTS = FEW.flatMap((i) =>
  KEY_IDS.flatMap((keyId) =>
    [0, 5, 12, 30].flatMap((halves) =>
      (['a', 'b'] as Scope[]).map((scope) => ({
        i,
        keyId,
        createdMs: NOW + halves * 500,
        scope,
        ppid: user(halves % 3),
      })),
    ),
  ),
)

function decision({ i, keyId, createdMs, scope, ppid }: (typeof REQUESTS)[number], site: SiteData) {
  const facts: TokenFacts = {
    tokenSha256: token(i),
    siteId: SITE,
    ppid,
    scope: ['a', 'b'] as Scope[],
    permissionId: 'perm_default' as PermissionId,
    credentialIds: [credential(i)],
    holders: [],
    isDelegated: false,
    issuer: issuer(i),
    issuerKey: `${issuer(i)}#${keyId}`,
    signedAtMs: createdMs,
    oldestSignedAtMs: createdMs,
    issuedAtMs: createdMs + 250,
    expiresAtMs: NOW + 3_600_000,
  }
  const isToken = !('ok' in findTokenScope(facts, { scope: [scope], nowMs: NOW }, site))
  const { holderProof, credentialTtlSecondsMax } = site.settings
  const ttlMax = Math.min(
    credentialTtlSecondsMax ?? 86_400,
    site.issuer(facts.issuer)?.credentialTtlSecondsMax ?? 86_400,
  )
  return { isToken, isUnbound: isToken && holderProof === 'optional', isLong: isToken && ttlMax >= 86_400 }
}

const acceptedBy = (site: SiteData) => REQUESTS.map((request) => decision(request, site))

function acceptedByBoth(proven: SiteView, latest: SiteView) {
  return REQUESTS.map((request) => {
    const [one, other] = [decision(request, proven), decision(request, latest)]
    // Two keys with one name: a signature is valid with at most one of them.
    const multikey = (view: SiteView) =>
      view.issuer(issuer(request.i))?.keys.get(`${issuer(request.i)}#${request.keyId}`)?.key.multikey
    const isSameKey = multikey(proven) === multikey(latest)
    return {
      isToken: one.isToken && other.isToken && isSameKey,
      isUnbound: one.isUnbound && other.isUnbound && isSameKey,
      isLong: one.isLong && other.isLong && isSameKey,
    }
  })
}

const revokedBy = (view: SiteView) => [
  ...FEW.map((i) => view.credentialRevocation(credential(i)) !== undefined),
  ...FEW.map((i) => view.tokenRevocation(token(i)) !== undefined),
  ...FEW.flatMap((i) => CREATED.map((createdMs) => view.userRevocation(user(i), createdMs) !== undefined)),
  ...FEW.flatMap((i) => KEY_IDS.map((keyId) => view.keyRevocation(issuer(i), keyId) !== undefined)),
  ...FEW.map((i) => view.issuerRevocation(issuer(i)) !== undefined),
]
