import { beforeAll, describe, expect, test } from 'vitest'
import type { Scope } from '../../src/credential/ids.ts'
import { createMemoryNonces } from '../../src/holder/nonces.ts'
import { explain } from '../../src/verify/explain.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import { credentialChecks, verify } from '../../src/verify/verify.ts'
import { newChain, showLink } from '../chain.ts'
import {
  createData,
  createDemand,
  edited,
  issue,
  NOW,
  newParty,
  type Party,
  PlainSite,
  shown,
  trusted,
} from '../sample.ts'

let issuer: Party
let site: PlainSite
beforeAll(async () => {
  issuer = await newParty()
  site = new PlainSite(trusted(issuer))
})
const NAMES = credentialChecks.map(([name]) => name)

/** As "name result code", like the table that users see. */
async function table(...args: Parameters<typeof explain>) {
  const { allowed, checks } = await explain(...args)
  return {
    allowed,
    lines: checks.map(({ check, result, denial }) => [check, result, denial?.code].filter(Boolean).join(' ')),
    checks,
  }
}

describe('explain', () => {
  test('the order of the checks is the one that the contract gives', () => {
    expect(NAMES).toEqual([
      'freshness',
      'reading',
      'issuer',
      'key',
      'signature',
      'delegation',
      'issuer_limits',
      'time',
      'site',
      'revocation',
      'scope',
      'holder',
    ])
  })

  test('shows every check passed for a good credential', async () => {
    const { allowed, lines, checks } = await table(
      shown(await issue(issuer)),
      createDemand(),
      createData(site),
    )
    expect(allowed).toBe(true)
    expect(lines).toEqual(NAMES.map((name) => `${name} passed`))
    expect(checks.every(({ trustworthy }) => trustworthy)).toBe(true)
  })

  test('goes on after a denial, so that all that is wrong is seen at once', async () => {
    const known = new PlainSite(trusted(issuer))
    known.siteId = 'other.example' as never
    const demand = createDemand({ nowMs: NOW + 10 ** 9, scope: ['orders:refund' as Scope] })
    const { allowed, lines, checks } = await table(
      shown(await issue(issuer)),
      demand,
      createData(known, { ageMs: 10 ** 9 }),
    )
    expect(allowed).toBe(false)
    expect(lines).toContain('freshness denied revocation_view_stale')
    expect(lines).toContain('time denied credential_expired')
    expect(lines).toContain('site denied site_mismatch')
    expect(lines).toContain('scope denied scope_insufficient')
    expect(lines).toContain('signature passed')
    expect(checks.every(({ trustworthy }) => trustworthy)).toBe(true)
  })

  test('marks what no signature vouches for', async () => {
    const spoiled = edited(await issue(issuer), (c) => (c.note = 'x'))
    const { allowed, checks } = await table(shown(spoiled), createDemand(), createData(site))
    expect(allowed).toBe(false)
    expect(checks.find(({ check }) => check === 'key')?.trustworthy).toBe(true)
    expect(checks.filter(({ trustworthy }) => !trustworthy).map(({ check }) => check)).toEqual(
      NAMES.slice(NAMES.indexOf('signature')),
    )
  })

  test('does not claim to have reached what it could not', async () => {
    const attacker = await newParty()
    const { lines } = await table(shown(await issue(attacker)), createDemand(), createData(site))
    expect(lines).toEqual([
      'freshness passed',
      'reading passed',
      'issuer denied issuer_untrusted',
      'key skipped',
      'signature skipped',
      'delegation skipped',
      'issuer_limits skipped',
      'time passed',
      'site passed',
      'revocation passed',
      'scope skipped',
      'holder passed',
    ])
    const unread = await table({ header: '%' }, createDemand(), createData(site))
    expect(unread.lines.slice(1)).toEqual([
      'reading denied credential_malformed',
      ...NAMES.slice(2).map((name) => `${name} skipped`),
    ])
  })

  test('uses up no nonce', async () => {
    const chain = await newChain(issuer, 1)
    const { presented, demand } = await showLink(chain)
    const nonces = createMemoryNonces({ startedAtMs: NOW - 600_000 })
    for (let i = 0; i < 2; i++)
      expect((await table(presented, { ...demand, nonces }, createData(site))).allowed).toBe(true)
    expect(await verify(presented, { ...demand, nonces }, createData(site))).toMatchObject({ ok: true })
  })

  test('does not promise possession where it cannot be checked', async () => {
    const { presented, demand } = await showLink(await newChain(issuer, 0))
    const { nonces: _, ...without } = demand
    expect((await table(presented, without, createData(site))).lines.at(-1)).toBe(
      'holder denied proof_required',
    )
  })

  test('teaches the memory of signatures nothing, least of all an invalid signature', async () => {
    const signatures = new SignatureCache()
    const spoiled = shown(edited(await issue(issuer), (c) => (c.note = 'x')))
    const data = createData(site, { signatures })
    await explain(spoiled, createDemand(), data)
    await explain(shown(await issue(issuer)), createDemand(), data)
    expect(signatures.size).toBe(0)
    expect(await verify(spoiled, createDemand(), data)).toMatchObject({
      code: 'credential_signature_invalid',
    })
  })

  test('agrees with verify', async () => {
    const chain = await newChain(
      issuer,
      2,
      (i, c) => void (i === 1 && (c.credentialSubject.delegable = false)),
    )
    const { presented, demand } = await showLink(chain)
    const { checks } = await table(presented, demand, createData(site))
    const first = checks.find(({ result }) => result === 'denied')
    expect(await verify(presented, demand, createData(site))).toMatchObject({
      code: first?.denial?.code as string,
    })
  })

  test('passes a fault of ours on', async () => {
    const broken = new PlainSite(trusted(issuer))
    broken.credentialRevocation = () => {
      throw new RangeError('broken')
    }
    await expect(explain(shown(await issue(issuer)), createDemand(), createData(broken))).rejects.toThrow(
      RangeError,
    )
  })
})
