import { beforeAll, describe, expect, test } from 'vitest'
import { credentialHeader } from '../../src/credential/header.ts'
import { parseMultikey } from '../../src/proof/keys.ts'
import type { AllowCredential } from '../../src/verify/decision.ts'
import { recheckAccess } from '../../src/verify/recheck.ts'
import { verify } from '../../src/verify/verify.ts'
import { newChain, showLink } from '../chain.ts'
import {
  createData,
  createDemand,
  createSite,
  createToken,
  issue,
  NOW,
  newParty,
  type Party,
  PlainSite,
  shown,
  signedDemand,
  trusted,
  trustedKey,
  WRITE,
} from '../sample.ts'

let issuer: Party
let holder: Party
let allowed: AllowCredential
beforeAll(async () => {
  issuer = await newParty()
  holder = await newParty()
  allowed = await accept(await issue(issuer))
})

async function accept(
  document: Parameters<typeof credentialHeader>[0],
  demand = createDemand(),
): Promise<AllowCredential> {
  const verdict = await verify({ header: credentialHeader(document) }, demand, createData(siteWith()))
  if (!verdict.ok || verdict.presented !== 'credential') throw new Error('the sample must be good')
  return verdict
}

const siteWith = (change?: (site: PlainSite) => void) => createSite(issuer, change)
const findCode = (
  site: PlainSite,
  demand = createDemand(),
  of: Parameters<typeof recheckAccess>[0] = allowed,
) => recheckAccess(of, demand, createData(site))?.code

describe('a caller that was accepted', () => {
  test('stays in while nothing changes, also by a view that was loaded again', () => {
    expect(findCode(siteWith())).toBeUndefined()
    const copy = parseMultikey(issuer.key.publicKey.multikey)
    if (copy === undefined) throw new Error('no key')
    const again = trusted(issuer, { keys: new Map([[issuer.method, trustedKey(copy)]]) })
    expect(copy).not.toBe(allowed.signedBy)
    expect(findCode(new PlainSite(again))).toBeUndefined()
  })

  test.each<[string, (site: PlainSite) => void, string]>([
    [
      'the credential is revoked',
      (site) => site.credentials.add(allowed.credential.id),
      'credential_revoked',
    ],
    ['the user is revoked', (site) => site.users.add(allowed.credential.ppid), 'credential_revoked'],
    ['the issuer is no longer trusted', (site) => site.issuers.clear(), 'issuer_untrusted'],
    [
      'the key is compromised',
      (site) =>
        site.issuers.set(issuer.did, trusted(issuer, { key: { status: 'compromised', changedAtMs: NOW } })),
      'issuer_untrusted',
    ],
    [
      'the key was retired before it signed',
      (site) =>
        site.issuers.set(
          issuer.did,
          trusted(issuer, { key: { status: 'retired', changedAtMs: NOW - 2000 } }),
        ),
      'issuer_untrusted',
    ],
    [
      'another key has taken its name',
      (site) => {
        const keys = new Map([[issuer.method, trustedKey(holder.key.publicKey)]])
        site.issuers.set(issuer.did, trusted(issuer, { keys }))
      },
      'credential_signature_invalid',
    ],
    [
      'the issuer may grant less',
      (site) => site.issuers.set(issuer.did, trusted(issuer, { scope: new Set([WRITE]) })),
      'scope_insufficient',
    ],
    [
      'the site takes only bound ones',
      (site) => (site.settings = { ...site.settings, holderProof: 'required' }),
      'proof_required',
    ],
    ['the view distrusts itself', (site) => (site.trusted = false), 'revocation_view_stale'],
  ])('is out when %s', (_, change, code) => {
    expect(findCode(siteWith(change))).toBe(code)
  })

  test('is out at the very millisecond of expiry, and with stale revocation data', () => {
    const site = siteWith()
    const { validUntilMs } = allowed.credential
    expect(findCode(site, createDemand({ nowMs: validUntilMs - 1 }))).toBeUndefined()
    expect(findCode(site, createDemand({ nowMs: validUntilMs }))).toBe('credential_expired')
    expect(recheckAccess(allowed, createDemand(), createData(site, { ageMs: 30_001 }))?.code).toBe(
      'revocation_view_stale',
    )
  })

  test('needs no second proof of possession', async () => {
    const document = await issue(issuer, { holderKey: holder.did })
    const bound = await accept(document, await signedDemand(holder, shown(document)))
    expect(bound.holder).toBe('verified')
    expect(
      findCode(
        siteWith((site) => (site.settings = { ...site.settings, holderProof: 'required' })),
        createDemand(),
        bound,
      ),
    ).toBeUndefined()
  })

  test('A116 is out when any link is revoked', async () => {
    const chain = await newChain(issuer, 2)
    const { presented, demand } = await showLink(chain)
    const leaf = await verify(presented, demand, createData(siteWith()))
    if (!leaf.ok) throw new Error(leaf.detail)
    expect(chain.links).toHaveLength(3)
    for (const link of chain.links) {
      const id = String(link.id).slice('did:service:'.length)
      expect(
        findCode(
          siteWith((site) => site.credentials.add(id)),
          createDemand(),
          leaf,
        ),
      ).toBe('credential_revoked')
    }
  })
})

test('a bearer token ends like its credential', async () => {
  const token = createToken(issuer)
  const verdict = await verify({ token }, createDemand(), createData(siteWith()))
  if (!verdict.ok) throw new Error('the sample must be valid')
  const recheck = (change?: (site: PlainSite) => void) => findCode(siteWith(change), createDemand(), verdict)
  expect(recheck()).toBeUndefined()
  expect(recheck((site) => site.tokens.add(token.tokenSha256))).toBe('token_invalid')
  expect(recheck((site) => (site.settings = { ...site.settings, bearer: 'off' }))).toBe('bearer_disabled')
  expect(recheck((site) => (site.settings = { ...site.settings, holderProof: 'required' }))).toBe(
    'proof_required',
  )
  const stale = createData(siteWith(), { ageMs: Infinity })
  expect(recheckAccess(verdict, createDemand(), stale)?.code).toBe('revocation_view_stale')
})
