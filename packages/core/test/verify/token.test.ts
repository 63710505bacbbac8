import { beforeAll, describe, expect, test } from 'vitest'
import type { CredentialId, Scope, SiteId } from '../../src/credential/ids.ts'
import type { RevocationData } from '../../src/verify/revocation-data.ts'
import type { TokenFacts } from '../../src/verify/token.ts'
import { verify } from '../../src/verify/verify.ts'
import {
  createData,
  createDemand,
  createSite,
  createToken,
  NOW,
  newParty,
  type Party,
  type PlainSite,
  READ,
  SITE,
  trusted,
  WRITE,
} from '../sample.ts'

let issuer: Party
let token: TokenFacts
beforeAll(async () => {
  issuer = await newParty()
  token = createToken(issuer)
})

const site = (change?: (site: PlainSite) => void) => createSite(issuer, change)
const judge = async (
  known: PlainSite = site(),
  demand = createDemand(),
  facts = token,
  more: Partial<RevocationData> = {},
) => {
  const verdict = await verify({ token: facts }, demand, createData(known, more))
  return verdict.ok ? 'allowed' : verdict.code
}

describe('a bearer token', () => {
  test('is allowed like its credential, and the verdict says that it was a bearer', async () => {
    const [credentialId] = token.credentialIds
    expect(await verify({ token }, createDemand(), createData(site()))).toEqual({
      ok: true,
      presented: 'bearer',
      subject: {
        ppid: token.ppid,
        siteId: SITE,
        scope: [READ, WRITE],
        credentialId,
        permissionId: 'perm_orders',
        expiresAtMs: token.expiresAtMs,
      },
      view: { epoch: expect.any(String), seq: 7, ageMs: 100 },
      token,
    })
  })

  test('A133 is over at the very millisecond of its end', async () => {
    expect(await judge(site(), createDemand({ nowMs: token.expiresAtMs - 1 }))).toBe('allowed')
    expect(await judge(site(), createDemand({ nowMs: token.expiresAtMs }))).toBe('token_invalid')
  })

  test('A134 of another site is as good as unknown', async () => {
    expect(await judge(site((s) => (s.siteId = 'other.example' as SiteId)))).toBe('token_invalid')
  })

  test('A138 dies with its credential, any parent, its user, issuer and key, and by itself', async () => {
    for (const id of token.credentialIds)
      expect(await judge(site((s) => s.credentials.add(id)))).toBe('token_invalid')
    expect(await judge(site((s) => s.users.add(token.ppid)))).toBe('token_invalid')
    expect(await judge(site((s) => s.tokens.add(token.tokenSha256)))).toBe('token_invalid')
    expect(await judge(site((s) => s.issuers.clear()))).toBe('token_invalid')
    expect(
      await judge(
        site((s) => s.issuers.set(issuer.did, trusted(issuer, { key: { status: 'compromised' } }))),
      ),
    ).toBe('token_invalid')
    expect(await judge(site((s) => s.issuers.set(issuer.did, trusted(issuer, { keys: new Map() }))))).toBe(
      'token_invalid',
    )
  })

  test('outlives the retirement of the key, like what the key signed before', async () => {
    expect(
      await judge(
        site((s) =>
          s.issuers.set(issuer.did, trusted(issuer, { key: { status: 'retired', changedAtMs: NOW } })),
        ),
      ),
    ).toBe('allowed')
  })

  test('that comes from what a key signed after its retirement is dead', async () => {
    const retired = (changedAtMs: number | undefined) =>
      judge(
        site((s) => s.issuers.set(issuer.did, trusted(issuer, { key: { status: 'retired', changedAtMs } }))),
      )
    expect(await retired(NOW - 3000)).toBe('allowed')
    expect(await retired(NOW - 3001)).toBe('token_invalid')
    expect(await retired(undefined)).toBe('token_invalid')
  })

  test('asks for user revocations as of the moment its oldest link was signed, not of its own making', async () => {
    const asked: number[] = []
    const known = site((s) => {
      s.userRevocation = ((_: string, createdMs: number) => void asked.push(createdMs)) as never
    })
    expect(await judge(known)).toBe('allowed')
    expect(asked).toEqual([token.oldestSignedAtMs])
  })

  test('is not taken where bearer tokens are switched off; a dead one does not learn even that', async () => {
    const off = (s: PlainSite) => (s.settings = { ...s.settings, bearer: 'off' })
    expect(await judge(site(off))).toBe('bearer_disabled')
    expect(await judge(site((s) => (off(s), s.tokens.add(token.tokenSha256))))).toBe('token_invalid')
    expect(await judge(site(off), createDemand({ nowMs: token.expiresAtMs }))).toBe('token_invalid')
  })

  test('S9 is rejected where holder proofs are required, whichever token it is', async () => {
    const required = (s: PlainSite) => (s.settings = { ...s.settings, holderProof: 'required' })
    expect(await judge(site())).toBe('allowed')
    expect(await judge(site(required))).toBe('proof_required')
    expect(await judge(site((s) => (required(s), s.tokens.add(token.tokenSha256))))).toBe('proof_required')
    expect(await judge(site(required), createDemand({ nowMs: token.expiresAtMs }))).toBe('proof_required')
    expect(await judge(site((s) => (required(s), (s.settings = { ...s.settings, bearer: 'off' }))))).toBe(
      'proof_required',
    )
  })

  test('that was out while bearer tokens were off stays dead when they are on again', async () => {
    const offUntil = (bearerOffMs: number | undefined) =>
      judge(site((s) => (s.settings = { ...s.settings, bearerOffMs })))
    expect(await offUntil(undefined)).toBe('allowed')
    expect(await offUntil(token.issuedAtMs - 1)).toBe('allowed')
    expect(await offUntil(token.issuedAtMs)).toBe('token_invalid')
    expect(await offUntil(NOW)).toBe('token_invalid')
  })

  test('gives only what the issuer may still grant', async () => {
    const capped = site((s) => s.issuers.set(issuer.did, trusted(issuer, { scope: new Set([READ]) })))
    expect(await verify({ token }, createDemand(), createData(capped))).toMatchObject({
      ok: true,
      subject: { scope: [READ] },
    })
    expect(await judge(capped, createDemand({ scope: [WRITE] }))).toBe('scope_insufficient')
    expect(await judge(site(), createDemand({ scope: ['orders:refund' as Scope] }))).toBe(
      'scope_insufficient',
    )
  })

  test('tells its bearer what to do, and no more', async () => {
    const said = async (known: PlainSite) => verify({ token }, createDemand(), createData(known))
    expect(await said(site((s) => s.tokens.add(token.tokenSha256)))).toMatchObject({
      detail: 'This bearer token is not valid here. Exchange the credential for a new one.',
    })
    expect(await said(site((s) => (s.settings = { ...s.settings, bearer: 'off' })))).toMatchObject({
      detail: 'This site does not accept bearer tokens. Send the credential itself.',
    })
  })

  test('is rejected like everything else when the revocation data is stale', async () => {
    expect(await judge(site(), createDemand(), token, { ageMs: 30_001 })).toBe('revocation_view_stale')
  })

  test('without a credential behind it is a fault of ours', async () => {
    await expect(
      verify(
        { token: { ...token, credentialIds: [] as CredentialId[] } },
        createDemand(),
        createData(site()),
      ),
    ).rejects.toThrow(TypeError)
  })
})
