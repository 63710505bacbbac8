import { beforeAll, describe, expect, test } from 'vitest'
import type { DenialCode } from '../../src/credential/denial.ts'
import type { Scope, SiteId } from '../../src/credential/ids.ts'
import { issueCredential } from '../../src/credential/issue.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import type { Demand } from '../../src/verify/demand.ts'
import type { RevocationData } from '../../src/verify/revocation-data.ts'
import { verify } from '../../src/verify/verify.ts'
import { newChain, showLink } from '../chain.ts'
import {
  createData,
  createDemand,
  type Editable,
  edited,
  grant,
  issue,
  NOW,
  newParty,
  newPpid,
  type Party,
  PlainSite,
  READ,
  shown,
  signedDemand,
  toSigner,
  trusted,
} from '../sample.ts'

/**
 * The messages for callers: they say what to do, and nothing about the credential before its
 * signature is verified.
 */
let issuer: Party
let attacker: Party
let holder: Party
let good: JsonObject
beforeAll(async () => {
  ;[issuer, attacker, holder] = await Promise.all([newParty(), newParty(), newParty()])
  good = await issue(issuer)
})

type Words = readonly [DenialCode, string]
const knownSite = (change: (site: PlainSite) => void = () => undefined) => {
  const site = new PlainSite(trusted(issuer))
  change(site)
  return createData(site)
}
async function words(
  document: JsonObject,
  data: RevocationData = knownSite(),
  demand: Demand = createDemand(),
): Promise<Words> {
  const verdict = await verify(shown(document), demand, data)
  return verdict.ok ? (['allowed', ''] as never) : [verdict.code, verdict.detail]
}

describe('the words of a denial', () => {
  test('before the signature', async () => {
    expect(await words(good, { ...knownSite(), ageMs: 10 ** 9 })).toEqual([
      'revocation_view_stale',
      'The revocation data of this verifier is stale. Try again in a moment.',
    ])
    expect(await words(await issue(attacker))).toEqual([
      'issuer_untrusted',
      'This site does not trust the issuer of the credential. Request one from an issuer that it trusts.',
    ])
    const compromised = createData(new PlainSite(trusted(issuer, { key: { status: 'compromised' } })))
    expect(await words(good, compromised)).toEqual([
      'issuer_untrusted',
      'The key that signed this credential is compromised. Request a new credential.',
    ])
    const broken: Words = [
      'credential_signature_invalid',
      'The signature of the credential is invalid. Present it exactly as it was issued, or request a new one.',
    ]
    expect(await words(edited(good, (c) => (c.note = 'x')))).toEqual(broken)
    expect(await words(edited(good, (c) => (c.proof.verificationMethod = attacker.method)))).toEqual(broken)
    expect(await words(edited(good, (c) => (c.proof.cryptosuite = 'ecdsa-jcs-2019')))).toEqual([
      'credential_unsupported',
      'The proof.cryptosuite of the credential does not match the key of its issuer. Request a new one.',
    ])
  })

  test('about what the issuer may say, time, site, revocation and scope', async () => {
    const retired = createData(
      new PlainSite(trusted(issuer, { key: { status: 'retired', changedAtMs: NOW - 5000 } })),
    )
    expect(await words(good, retired)).toEqual([
      'issuer_untrusted',
      'This credential was signed after its key was retired. Request a new credential.',
    ])
    const brief = createData(new PlainSite(trusted(issuer, { credentialTtlSecondsMax: 60 })))
    expect(await words(good, brief)).toEqual([
      'issuer_untrusted',
      'The credential is valid for longer than the 60 seconds that the site allows its issuer. Request a shorter one.',
    ])
    const days = (n: number) => n * 86_400_000
    const signedEarly = (lifeMs: number) =>
      issueCredential(
        grant({ validFromMs: NOW - days(1), validUntilMs: NOW - days(1) + lifeMs }),
        toSigner(issuer, NOW - days(300)),
      )
    expect(await words(await signedEarly(days(67) + 1000))).toEqual([
      'issuer_untrusted',
      'The credential ends more than 366 days after it was signed. Request a new one.',
    ])
    expect(await words(await signedEarly(days(67)))).toEqual(['allowed', ''])
    expect(await words(good, knownSite(), createDemand({ nowMs: NOW + 10 ** 8 }))).toEqual([
      'credential_expired',
      'The credential has expired. Request a new one from its issuer.',
    ])
    expect(await words(good, knownSite(), createDemand({ nowMs: NOW - 10 ** 6 }))).toEqual([
      'credential_not_yet_valid',
      'The credential is not valid yet. Wait, or check the clocks of the issuer and the client.',
    ])
    expect(
      await words(
        good,
        knownSite((s) => (s.siteId = 'other.example' as SiteId)),
      ),
    ).toEqual([
      'site_mismatch',
      'This credential is not valid for other.example. Present one that was issued for this site.',
    ])
    expect(
      await words(
        good,
        knownSite((s) => s.users.add((good as Editable).credentialSubject.id)),
      ),
    ).toEqual(['credential_revoked', 'Access with this credential has been revoked. Contact the site.'])
    expect(await words(good, knownSite(), createDemand({ scope: ['orders:refund' as Scope] }))).toEqual([
      'scope_insufficient',
      'The credential does not have the required scope. Request one that has it from its issuer.',
    ])
  })

  test('about possession', async () => {
    const strict = knownSite((s) => (s.settings = { ...s.settings, holderProof: 'required' }))
    expect(await words(good, strict)).toEqual([
      'proof_required',
      'This site accepts only holder-bound credentials. Request one, and sign every request with the holder key.',
    ])
    const bound = await issue(issuer, { holderKey: holder.did })
    expect(await words(bound)).toEqual([
      'proof_required',
      'The credential is holder-bound, but this verifier cannot check holder proofs. Use another verifier.',
    ])
    const demand = await signedDemand(holder, shown(bound))
    expect(await words(bound, knownSite(), { ...demand, nonces: { consume: () => 'replayed' } })).toEqual([
      'proof_replayed',
      'This request signature has been used before. Sign each request again, with a new nonce.',
    ])
    expect(await words(bound, knownSite(), { ...demand, nonces: { consume: () => 'rejected' } })).toEqual([
      'proof_invalid',
      'This request signature is too old or too far in the future to exclude a replay. Sign the request again.',
    ])
  })

  test.each<[string, number, (c: Editable) => unknown]>([
    ['its parent may not be delegated', 0, (c) => delete c.credentialSubject.delegable],
    ['every link of a chain must be holder-bound', 1, (c) => delete c.credentialSubject.holder_key],
    ["its issuer is not its parent's holder key", 1, (c) => (c.issuer = 'did:web:x.example')],
    ['it is for another site than its parent', 1, (c) => (c.credentialSubject.site_id = 'x')],
    ['it is for another user than its parent', 1, (c) => (c.credentialSubject.id = newPpid())],
    [
      'it names another permission than its parent',
      1,
      (c) => (c.credentialSubject.permission_id = 'perm_admin'),
    ],
    ['it expires after its parent', 1, (c) => (c.validUntil = '2026-12-14T12:00:00Z')],
    ['it has a scope that its parent does not have', 0, (c) => (c.credentialSubject.scope = [READ])],
  ])('about a delegated credential: %s', async (why, link, spoil) => {
    const chain = await newChain(issuer, 1, (i, c) => void (i === link && spoil(c)))
    const { presented, demand } = await showLink(chain)
    expect(await verify(presented, demand, knownSite())).toMatchObject({
      code: 'delegation_invalid',
      detail: `A delegated credential is invalid: ${why}. Delegate again from its parent.`,
    })
  })

  test('about a delegated credential that another key signed', async () => {
    const chain = await newChain(issuer, 1, (i) => (i === 1 ? attacker : undefined))
    const { presented, demand } = await showLink(chain)
    expect(await verify(presented, demand, knownSite())).toMatchObject({
      detail:
        "A delegated credential is invalid: its parent's holder key did not sign it. Delegate again from its parent.",
    })
  })
})
