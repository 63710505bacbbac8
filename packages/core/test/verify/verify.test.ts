import { beforeAll, describe, expect, test } from 'vitest'
import type { DenialCode } from '../../src/credential/denial.ts'
import type { Scope, SiteId } from '../../src/credential/ids.ts'
import { issueCredential } from '../../src/credential/issue.ts'
import { readCredentialObject } from '../../src/credential/read.ts'
import { holderRequestFrom } from '../../src/holder/request.ts'
import { signRequest } from '../../src/holder/sign.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import { decide, verify } from '../../src/verify/verify.ts'
import {
  createData,
  createDemand,
  type Editable,
  EPOCH,
  grant,
  issue,
  NOW,
  newParty,
  type Party,
  PlainSite,
  READ,
  SITE,
  shown,
  signedDemand,
  toSigner,
  trusted,
  trustedKey,
  WRITE,
} from '../sample.ts'

let issuer: Party
let holder: Party
let site: PlainSite
beforeAll(async () => {
  issuer = await newParty()
  holder = await newParty()
  site = new PlainSite(trusted(issuer))
})

const code = async (...args: Parameters<typeof verify>): Promise<DenialCode | 'allowed'> => {
  const verdict = await verify(...args)
  return verdict.ok ? 'allowed' : verdict.code
}

describe('decide', () => {
  test('says the same as verify, at once or later', async () => {
    // One cache each, because a cached credential has more members than a parsed one.
    const [one, other] = [new SignatureCache(), new SignatureCache()]
    const good = shown(await issueCredential(grant(), toSigner(issuer)))
    const bound = shown(await issueCredential(grant({ holderKey: holder.did }), toSigner(issuer)))
    for (const presented of [good, good, bound, { header: 'junk' }]) {
      const decided = decide(presented, createDemand(), createData(site, { signatures: one }))
      expect(await decided).toEqual(
        await verify(presented, createDemand(), createData(site, { signatures: other })),
      )
    }
  })

  test('throws at once what verify rejects with', async () => {
    const broken = { ...createData(site), site: undefined } as never
    expect(() => decide({ header: 'junk' }, createDemand(), broken)).toThrow(TypeError)
    await expect(verify({ header: 'junk' }, createDemand(), broken)).rejects.toThrow(TypeError)
  })
})

describe('a good credential', () => {
  test('is allowed, and the verdict says who, what and with which revocation data', async () => {
    const credential = grant()
    const document = await issueCredential(credential, toSigner(issuer))
    const verdict = await verify(shown(document), createDemand(), createData(site, { ageMs: 41 }))
    expect(verdict).toMatchObject({
      ok: true,
      presented: 'credential',
      holder: 'unbound',
      subject: {
        ppid: credential.ppid,
        siteId: SITE,
        scope: [READ, WRITE],
        credentialId: credential.credentialId,
        permissionId: 'perm_orders',
        expiresAtMs: credential.validUntilMs,
      },
      view: { epoch: EPOCH, seq: 7, ageMs: 41 },
    })
  })

  test('names perm_default when it has no permission_id', async () => {
    const { permissionId: _, ...plain } = grant()
    const document = await issueCredential(plain, toSigner(issuer))
    expect(await verify(shown(document), createDemand(), createData(site))).toMatchObject({
      subject: { permissionId: 'perm_default' },
    })
  })

  test('is judged alike when it was read from a body', async () => {
    const read = readCredentialObject(await issue(issuer))
    if ('ok' in read) throw new Error(read.detail)
    expect(await code({ signed: read }, createDemand(), createData(site))).toBe('allowed')
  })

  test('of a P-256 issuer is allowed', async () => {
    const kms = await newParty('P-256')
    expect(await code(shown(await issue(kms)), createDemand(), createData(new PlainSite(trusted(kms))))).toBe(
      'allowed',
    )
  })

  test('is allowed exactly as long as the revocation data is fresh', async () => {
    const presented = shown(await issue(issuer))
    expect(await code(presented, createDemand(), createData(site, { ageMs: 30_000 }))).toBe('allowed')
    expect(await code(presented, createDemand(), createData(site, { ageMs: 30_001 }))).toBe(
      'revocation_view_stale',
    )
    expect(await code(presented, createDemand(), createData(site, { ageMs: Number.NaN }))).toBe(
      'revocation_view_stale',
    )
    expect(await code(presented, createDemand(), createData(site, { ageMs: Number.POSITIVE_INFINITY }))).toBe(
      'revocation_view_stale',
    )
  })
})

describe('a denial', () => {
  test('carries its code, words and the age of the revocation data, and nothing of the credential', async () => {
    const verdict = await verify(
      shown(await issue(issuer)),
      createDemand({ nowMs: NOW + 3_600_000 }),
      createData(site),
    )
    expect(verdict).toEqual({
      ok: false,
      code: 'credential_expired',
      detail: expect.stringContaining('Request a new one'),
      view: { epoch: EPOCH, seq: 7, ageMs: 100 },
    })
  })

  test('for want of scope names the scope that is needed', async () => {
    const demand = createDemand({ scope: ['orders:refund' as Scope], anyScope: ['a' as Scope, 'b' as Scope] })
    expect(await verify(shown(await issue(issuer)), demand, createData(site))).toMatchObject({
      code: 'scope_insufficient',
      requiredScope: ['orders:refund', 'a', 'b'],
    })
  })

  test('comes before reading anything when the revocation data is stale', async () => {
    expect(await code({ header: '%%%' }, createDemand(), createData(site, { ageMs: 31_000 }))).toBe(
      'revocation_view_stale',
    )
  })
})

describe('scope', () => {
  test('needs all of `scope` and one of `anyScope`', async () => {
    const presented = shown(await issue(issuer))
    const ask = (scope: string[], anyScope?: string[]) =>
      code(
        presented,
        createDemand({ scope: scope as Scope[], ...(anyScope && { anyScope: anyScope as Scope[] }) }),
        createData(site),
      )
    expect(await ask([READ, WRITE])).toBe('allowed')
    expect(await ask([READ, 'orders:refund'])).toBe('scope_insufficient')
    expect(await ask([], ['orders:refund', WRITE])).toBe('allowed')
    expect(await ask([], ['orders:refund'])).toBe('scope_insufficient')
    expect(await ask([READ], [])).toBe('scope_insufficient')
    expect(await ask([])).toBe('allowed')
  })

  test('is what the credential has and the issuer may grant', async () => {
    const capped = new PlainSite(trusted(issuer, { scope: new Set([READ, 'other' as Scope]) }))
    const presented = shown(await issue(issuer))
    const verdict = await verify(presented, createDemand(), createData(capped))
    expect(verdict).toMatchObject({ ok: true, subject: { scope: [READ] } })
    expect(await code(presented, createDemand({ scope: [WRITE] }), createData(capped))).toBe(
      'scope_insufficient',
    )
  })

  test('that the cap leaves empty gives nothing, even where nothing is asked for', async () => {
    const capped = new PlainSite(trusted(issuer, { scope: new Set(['other' as Scope]) }))
    expect(await code(shown(await issue(issuer)), createDemand({ scope: [] }), createData(capped))).toBe(
      'scope_insufficient',
    )
  })
})

describe('the issuer', () => {
  test('may not sign with a compromised key, whenever that was', async () => {
    const known = new PlainSite(trusted(issuer, { key: { status: 'compromised', changedAtMs: NOW + 1 } }))
    expect(await code(shown(await issue(issuer)), createDemand(), createData(known))).toBe('issuer_untrusted')
  })

  test('is believed for what a retired key signed up to its retirement', async () => {
    const presented = shown(await issue(issuer)) // created one second before NOW
    const retired = (changedAtMs: number | undefined) =>
      createData(new PlainSite(trusted(issuer, { key: { status: 'retired', changedAtMs } })))
    expect(await code(presented, createDemand(), retired(NOW - 1000))).toBe('allowed')
    expect(await code(presented, createDemand(), retired(NOW - 1001))).toBe('issuer_untrusted')
    expect(await code(presented, createDemand(), retired(undefined))).toBe('issuer_untrusted')
  })

  test('may give exactly the longest life that site and issuer allow, and not a second more', async () => {
    const presented = shown(await issue(issuer)) // 3,660 s
    const allowing = (own: number | undefined, sites: number | undefined) => {
      const known = new PlainSite(trusted(issuer, { credentialTtlSecondsMax: own }))
      known.settings = { ...known.settings, credentialTtlSecondsMax: sites }
      return createData(known)
    }
    expect(await code(presented, createDemand(), allowing(3660, undefined))).toBe('allowed')
    expect(await code(presented, createDemand(), allowing(3659, undefined))).toBe('issuer_untrusted')
    expect(await code(presented, createDemand(), allowing(undefined, 3660))).toBe('allowed')
    expect(await code(presented, createDemand(), allowing(undefined, 3659))).toBe('issuer_untrusted')
    expect(await code(presented, createDemand(), allowing(9999, 3659))).toBe('issuer_untrusted')
    const years = shown(await issue(issuer, { validUntilMs: NOW - 60_000 + 366 * 86_400_000 }))
    const longer = shown(await issue(issuer, { validUntilMs: NOW - 60_000 + 366 * 86_400_000 + 1000 }))
    expect(await code(years, createDemand(), allowing(undefined, undefined))).toBe('allowed')
    expect(await code(longer, createDemand(), allowing(10 ** 9, 10 ** 9))).toBe('issuer_untrusted')
  })
})

describe('a holder-bound credential', () => {
  const bound = async () => shown(await issue(issuer, { holderKey: holder.did }))

  test('is allowed with its holder’s proof, once', async () => {
    const presented = await bound()
    const demand = await signedDemand(holder, presented)
    expect(await verify(presented, demand, createData(site))).toMatchObject({ ok: true, holder: 'verified' })
    expect(await code(presented, demand, createData(site))).toBe('proof_replayed')
  })

  test('that came in the body is proven without a credential header', async () => {
    const document = await issue(issuer, { holderKey: holder.did })
    const read = readCredentialObject(document)
    if ('ok' in read) throw new Error(read.detail)
    const plain = holderRequestFrom(
      'POST',
      'https://shop.example/exchange',
      new Headers(),
      new TextEncoder().encode('{}'),
    )
    const fields = new Headers({ ...(await signRequest(plain, { key: holder.key, nowMs: NOW })) })
    const demand = await signedDemand(holder, shown(document))
    const request = {
      ...plain,
      header: (name: string) => (fields.has(name) ? [fields.get(name) as string] : undefined),
    }
    expect(await verify({ signed: read }, { ...demand, request }, createData(site))).toMatchObject({
      ok: true,
      holder: 'verified',
    })
    expect(await code(shown(document), { ...demand, request }, createData(site))).toBe('proof_invalid')
  })

  test('is rejected where holder proofs cannot be checked', async () => {
    const presented = await bound()
    const { request, nonces, ...rest } = await signedDemand(holder, presented)
    expect(await code(presented, rest, createData(site))).toBe('proof_required')
    expect(await code(presented, { ...rest, ...(request && { request }) }, createData(site))).toBe(
      'proof_required',
    )
    expect(await code(presented, { ...rest, ...(nonces && { nonces }) }, createData(site))).toBe(
      'proof_required',
    )
  })

  test('uses its nonce up only when everything else is in order', async () => {
    const presented = await bound()
    const demand = await signedDemand(holder, presented)
    expect(await code(presented, { ...demand, scope: ['orders:refund' as Scope] }, createData(site))).toBe(
      'scope_insufficient',
    )
    expect(await code(presented, demand, createData(site))).toBe('allowed')
  })

  test('is rejected when the nonce store can no longer tell', async () => {
    const presented = await bound()
    const demand = await signedDemand(holder, presented, { nonces: { consume: () => 'rejected' } })
    expect(await code(presented, demand, createData(site))).toBe('proof_invalid')
  })

  test('fails loudly, not open, when the nonce store breaks', async () => {
    const presented = await bound()
    const demand = await signedDemand(holder, presented, {
      nonces: { consume: () => Promise.reject(new Error('store is gone')) },
    })
    await expect(verify(presented, demand, createData(site))).rejects.toThrow('store is gone')
  })

  test('says so when the body was not seen', async () => {
    const presented = await bound()
    const demand = await signedDemand(holder, presented)
    if (demand.request === undefined) throw new Error('no request')
    const unseen = { ...demand, request: { ...demand.request, body: 'unseen' as const } }
    expect(await verify(presented, unseen, createData(site))).toMatchObject({
      ok: true,
      holder: 'verified_without_body',
    })
  })

  test('is the only kind that a site with holder_proof "required" takes', async () => {
    const strict = new PlainSite(trusted(issuer))
    strict.settings = { ...strict.settings, holderProof: 'required' }
    expect(await code(shown(await issue(issuer)), createDemand(), createData(strict))).toBe('proof_required')
    const presented = await bound()
    expect(await code(presented, await signedDemand(holder, presented), createData(strict))).toBe('allowed')
  })
})

test('the site asked for is the one whose revocation data is used', async () => {
  const other = new PlainSite(trusted(issuer))
  other.siteId = 'other.example' as SiteId
  expect(await code(shown(await issue(issuer)), createDemand(), createData(other))).toBe('site_mismatch')
})

describe('what the log takes away while a decision waits', () => {
  /** The site changes while a nonce store or another asynchronous step is waiting. */
  const during = (change: () => void) => ({
    consume: async () => {
      await Promise.resolve()
      change()
      return 'fresh' as const
    },
  })
  const changes: [string, (known: PlainSite, document: Editable) => unknown, DenialCode][] = [
    [
      'the credential is revoked',
      (s, d) => s.credentials.add(d.id.slice('did:service:'.length)),
      'credential_revoked',
    ],
    ['the user is revoked', (s, d) => s.users.add(d.credentialSubject.id), 'credential_revoked'],
    ['the issuer is distrusted', (s) => s.issuers.clear(), 'issuer_untrusted'],
    [
      'the key is compromised',
      (s) => s.issuers.set(issuer.did, trusted(issuer, { key: { status: 'compromised' } })),
      'issuer_untrusted',
    ],
    [
      'the key is retired',
      (s) => s.issuers.set(issuer.did, trusted(issuer, { key: { status: 'retired', changedAtMs: 0 } })),
      'issuer_untrusted',
    ],
    [
      'the key is replaced',
      (s) =>
        s.issuers.set(
          issuer.did,
          trusted(issuer, { keys: new Map([[issuer.method, trustedKey(holder.key.publicKey)]]) }),
        ),
      'credential_signature_invalid',
    ],
    [
      'the scope is capped',
      (s) => s.issuers.set(issuer.did, trusted(issuer, { scope: new Set(['x' as Scope]) })),
      'scope_insufficient',
    ],
    [
      'lives are shortened',
      (s) => (s.settings = { ...s.settings, credentialTtlSecondsMax: 60 }),
      'issuer_untrusted',
    ],
    ['the view distrusts itself', (s) => (s.trusted = false), 'revocation_view_stale'],
  ]
  test.each(changes)('%s', async (_, change, expected) => {
    const known = new PlainSite(trusted(issuer))
    const document = await issue(issuer, { holderKey: holder.did })
    const presented = shown(document)
    const demand = await signedDemand(holder, presented, { nonces: during(() => change(known, document)) })
    expect(await code(presented, demand, createData(known))).toBe(expected)
  })

  test('nothing, though the view was loaded again and has new objects for the same keys: then it is allowed', async () => {
    const known = new PlainSite(trusted(issuer))
    const presented = shown(await issue(issuer, { holderKey: holder.did }))
    const sameKey = { ...issuer.key.publicKey }
    const reload = () =>
      known.issuers.set(
        issuer.did,
        trusted(issuer, { keys: new Map([[issuer.method, trustedKey(sameKey)]]) }),
      )
    expect(
      await code(
        presented,
        await signedDemand(holder, presented, { nonces: during(reload) }),
        createData(known),
      ),
    ).toBe('allowed')
  })

  test('nothing: then it is allowed, and the verdict is stamped with the last entry known', async () => {
    const known = new PlainSite(trusted(issuer))
    const presented = shown(await issue(issuer, { holderKey: holder.did }))
    const demand = await signedDemand(holder, presented, {
      nonces: during(() => (known.head = { ...known.head, seq: 8 })),
    })
    expect(await verify(presented, demand, createData(known))).toMatchObject({ ok: true, view: { seq: 8 } })
  })
})

describe('misuse', () => {
  test('an object that only looks like a credential that was read is not judged at all', async () => {
    const mine = await issue(issuer)
    const read = readCredentialObject(mine)
    if ('ok' in read) throw new Error(read.detail)
    const forged = { ...read, credential: { ...read.credential, scope: ['admin' as Scope] } }
    await expect(
      verify({ signed: forged }, createDemand({ scope: ['admin' as Scope] }), createData(site)),
    ).rejects.toThrow(TypeError)
    await expect(
      verify({ signed: JSON.parse(JSON.stringify(read)) }, createDemand(), createData(site)),
    ).rejects.toThrow(TypeError)
    expect(await code({ signed: read }, createDemand(), createData(site))).toBe('allowed')
  })

  test('a view that distrusts itself, or an endless age, is never fresh enough', async () => {
    const presented = shown(await issue(issuer))
    const forever = { ageMsMax: Number.POSITIVE_INFINITY }
    expect(await code(presented, createDemand(), createData(site, { ...forever, ageMs: 10 ** 12 }))).toBe(
      'allowed',
    )
    expect(
      await code(
        presented,
        createDemand(),
        createData(site, { ...forever, ageMs: Number.POSITIVE_INFINITY }),
      ),
    ).toBe('revocation_view_stale')
    const doubtful = new PlainSite(trusted(issuer))
    doubtful.trusted = false
    expect(await code(presented, createDemand(), createData(doubtful, { ageMs: 0 }))).toBe(
      'revocation_view_stale',
    )
  })

  test('a proof made for one credential of a holder is no proof for another of the same holder', async () => {
    const [small, large] = [
      await issue(issuer, { holderKey: holder.did, scope: [READ] }),
      await issue(issuer, { holderKey: holder.did }),
    ]
    const demand = await signedDemand(holder, shown(small))
    expect(await verify(shown(large), demand, createData(site))).toMatchObject({
      code: 'proof_invalid',
      detail: 'The signed request does not contain the presented credential. Sign the request that you send.',
    })
  })

  test('a credential from a body needs a proof that covers the body', async () => {
    const document = await issue(issuer, { holderKey: holder.did })
    const read = readCredentialObject(document)
    if ('ok' in read) throw new Error(read.detail)
    const plain = holderRequestFrom('GET', 'https://shop.example/exchange', new Headers(), 'none')
    const fields = new Headers({ ...(await signRequest(plain, { key: holder.key, nowMs: NOW })) })
    const request = {
      ...plain,
      header: (name: string) => (fields.has(name) ? [fields.get(name) as string] : undefined),
    }
    const demand = await signedDemand(holder, shown(document))
    expect(await code({ signed: read }, { ...demand, request }, createData(site))).toBe('proof_invalid')
  })
})
