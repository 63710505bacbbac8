import { beforeAll, describe, expect, test } from 'vitest'
import type { DenialCode } from '../../src/credential/denial.ts'
import { credentialHeader } from '../../src/credential/header.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { signDocument } from '../../src/proof/sign.ts'
import type { RevocationData } from '../../src/verify/revocation-data.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import { verify } from '../../src/verify/verify.ts'
import { type Chain, newChain, showLink } from '../chain.ts'
import {
  at,
  createData,
  type Editable,
  NOW,
  newParty,
  newPpid,
  type Party,
  PlainSite,
  READ,
  shown,
  signedDemand,
  trusted,
  WRITE,
} from '../sample.ts'

let issuer: Party
let attacker: Party
let site: PlainSite
beforeAll(async () => {
  issuer = await newParty()
  attacker = await newParty()
  site = new PlainSite(trusted(issuer))
})

const judge = async (
  chain: Chain,
  data: RevocationData = createData(site),
  i?: number,
): Promise<DenialCode | 'allowed'> => {
  const { presented, demand } = await showLink(chain, i)
  const verdict = await verify(presented, demand, data)
  return verdict.ok ? 'allowed' : verdict.code
}
/** Changes one link of a chain before it is signed. */
const spoiled = (depth: number, link: number, edit: (c: Editable) => unknown) =>
  newChain(issuer, depth, (i, c) => {
    if (i === link) edit(c)
  })
const findId = (document: JsonObject | undefined) => String(document?.id).slice('did:service:'.length)

describe('group 9: delegation', () => {
  test('a chain of one, two and three delegations is good at every link', async () => {
    const chain = await newChain(issuer, 3)
    for (let i = 0; i <= 3; i++) expect(await judge(chain, createData(site), i), `link ${i}`).toBe('allowed')
  })

  test('passes the user on, and what scope is left', async () => {
    const chain = await spoiled(2, 2, (c) => (c.credentialSubject.scope = [READ]))
    const { presented, demand } = await showLink(chain)
    expect(await verify(presented, demand, createData(site))).toMatchObject({
      ok: true,
      subject: {
        ppid: (chain.links[0] as Editable).credentialSubject.id,
        scope: [READ],
        credentialId: findId(chain.links[2]),
      },
    })
  })

  test('A109 more scope than the parent, also when an earlier link had it', async () => {
    expect(await judge(await spoiled(1, 0, (c) => (c.credentialSubject.scope = [READ])))).toBe(
      'delegation_invalid',
    )
    expect(await judge(await spoiled(2, 1, (c) => (c.credentialSubject.scope = [READ])))).toBe(
      'delegation_invalid',
    )
    expect(await judge(await spoiled(1, 1, (c) => (c.credentialSubject.scope = [READ, WRITE, 'x'])))).toBe(
      'delegation_invalid',
    )
  })

  test('A110 another site or another user than the parent', async () => {
    expect(await judge(await spoiled(1, 0, (c) => (c.credentialSubject.site_id = 'other.example')))).toBe(
      'delegation_invalid',
    )
    expect(await judge(await spoiled(1, 1, (c) => (c.credentialSubject.site_id = 'other.example')))).toBe(
      'delegation_invalid',
    )
    expect(await judge(await spoiled(1, 1, (c) => (c.credentialSubject.id = newPpid())))).toBe(
      'delegation_invalid',
    )
  })

  test('A110 another permission than the parent; one that names none has its parent’s', async () => {
    const named = (permission: string | undefined) => (c: Editable) =>
      permission === undefined
        ? delete c.credentialSubject.permission_id
        : (c.credentialSubject.permission_id = permission)
    expect(await judge(await spoiled(1, 1, named('perm_admin')))).toBe('delegation_invalid')
    expect(await judge(await spoiled(1, 0, named(undefined))), 'more than a parent that names none').toBe(
      'delegation_invalid',
    )
    expect(
      await judge(
        await newChain(
          issuer,
          2,
          (i, c) => void (i === 1 ? named(undefined)(c) : named(i === 2 ? 'perm_admin' : 'perm_orders')(c)),
        ),
      ),
    ).toBe('delegation_invalid')
    const { presented, demand } = await showLink(
      await newChain(issuer, 2, (i, c) => void (i > 0 && named(undefined)(c))),
    )
    expect(await verify(presented, demand, createData(site))).toMatchObject({
      ok: true,
      subject: { permissionId: 'perm_orders' },
    })
  })

  test('A110 the id of a credential that it hangs on', async () => {
    const taken = (depth: number, ancestor: number) =>
      newChain(issuer, depth, (i, c) => {
        if (i !== depth) return
        let link = c
        for (let up = depth; up > ancestor; up--) link = link.parent
        c.id = link.id
      })
    expect(await judge(await taken(1, 0))).toBe('delegation_invalid')
    expect(await judge(await taken(2, 0))).toBe('delegation_invalid')
    expect(await judge(await taken(2, 1))).toBe('delegation_invalid')
  })

  test('A111 a longer life than the parent', async () => {
    expect(await judge(await spoiled(1, 1, (c) => (c.validUntil = at(3601))))).toBe('delegation_invalid')
    expect(await judge(await spoiled(1, 1, (c) => (c.validUntil = at(3600))))).toBe('allowed')
    expect(await judge(await spoiled(2, 1, (c) => (c.validUntil = at(60))))).toBe('delegation_invalid')
  })

  test('A111 a parent that is not valid yet does not count early through its child', async () => {
    expect(await judge(await spoiled(1, 0, (c) => (c.validFrom = at(60))))).toBe('credential_not_yet_valid')
  })

  test('A111 expired together with its parent', async () => {
    const chain = await newChain(issuer, 1, (_, c) => void (c.validUntil = at(-1)))
    expect(await judge(chain)).toBe('credential_expired')
  })

  test('A112 signed by anyone but the holder of the parent', async () => {
    const by = (signer: Party, claim: (c: Editable, parentHolder: string) => void) =>
      newChain(issuer, 1, (i, c) => {
        if (i !== 1) return undefined
        claim(c, c.issuer)
        return signer
      })
    for (const signer of [attacker, issuer]) {
      expect(await judge(await by(signer, (c) => (c.issuer = signer.did)))).toBe('delegation_invalid')
      expect(await judge(await by(signer, () => undefined))).toBe('delegation_invalid')
    }
  })

  test('A112 with the signature of the right holder under a wrong name', async () => {
    const chain = await newChain(issuer, 1)
    const forged = structuredClone(chain.links[1]) as Editable
    forged.proof.verificationMethod = attacker.method
    expect(await judge({ ...chain, links: [chain.links[0] as JsonObject, forged] })).toBe(
      'delegation_invalid',
    )
  })

  test('A112 a link signed for another purpose, or in another suite', async () => {
    const chain = await newChain(issuer, 1)
    for (const [member, value] of [
      ['proofPurpose', 'authentication'],
      ['cryptosuite', 'ecdsa-jcs-2019'],
    ] as const) {
      const forged = structuredClone(chain.links[1]) as Editable
      forged.proof[member] = value
      expect(await judge({ ...chain, links: [chain.links[0] as JsonObject, forged] }), member).toBe(
        'delegation_invalid',
      )
    }
  })

  test('A112 signed by the right holder, but naming another issuer, purpose or key', async () => {
    expect(await judge(await spoiled(1, 1, (c) => (c.issuer = attacker.did)))).toBe('delegation_invalid')
    const chain = await newChain(issuer, 1)
    const [holder] = chain.holders as [Party]
    const { proof: _, ...unsigned } = chain.links[1] as JsonObject
    const signedAs = async (options: { verificationMethod?: string; proofPurpose?: string }) => {
      const child = await signDocument(unsigned, {
        key: holder.key,
        verificationMethod: holder.method,
        createdMs: NOW - 1000,
        ...options,
      })
      return judge({ ...chain, links: [chain.links[0] as JsonObject, child] })
    }
    expect(await signedAs({})).toBe('allowed')
    expect(await signedAs({ proofPurpose: 'authentication' })).toBe('delegation_invalid')
    expect(await signedAs({ verificationMethod: `${holder.did}#other` })).toBe('delegation_invalid')
    expect(await signedAs({ verificationMethod: attacker.method })).toBe('delegation_invalid')
  })

  test('A112 a good child hung onto another parent of the same holder', async () => {
    const chain = await newChain(issuer, 1)
    const forged = structuredClone(chain.links[1]) as Editable
    forged.parent = (await newChain(issuer, 0)).links[0]
    expect(await judge({ ...chain, links: [chain.links[0] as JsonObject, forged] })).toBe(
      'delegation_invalid',
    )
  })

  test('a root that no trusted issuer signed carries nothing', async () => {
    expect(await judge(await newChain(attacker, 1))).toBe('issuer_untrusted')
    const chain = await newChain(issuer, 1)
    const forged = structuredClone(chain.links[1]) as Editable
    forged.parent.proof.proofValue = forged.proof.proofValue
    expect(await judge({ ...chain, links: [chain.links[0] as JsonObject, forged] })).toBe(
      'credential_signature_invalid',
    )
  })

  test('A114 four delegations are too many, whatever is wrong with them besides', async () => {
    const deep = await newChain(issuer, 4)
    expect(await judge(deep)).toBe('delegation_too_deep')
    expect(await judge(await spoiled(4, 0, (c) => delete c.validUntil))).toBe('delegation_too_deep')
  })

  test('A115 a parent that may not delegate, at any link', async () => {
    for (const delegable of [undefined, false]) {
      const forbid = (c: Editable) =>
        delegable === undefined
          ? delete c.credentialSubject.delegable
          : (c.credentialSubject.delegable = delegable)
      expect(await judge(await spoiled(1, 0, forbid))).toBe('delegation_invalid')
      expect(await judge(await spoiled(2, 1, forbid))).toBe('delegation_invalid')
      expect(await judge(await spoiled(1, 1, forbid)), 'the last link need not be').toBe('allowed')
    }
    for (const wrong of ['true', 1, null]) {
      expect(await judge(await spoiled(1, 0, (c) => (c.credentialSubject.delegable = wrong)))).toBe(
        'credential_malformed',
      )
    }
  })

  test('A115 a link without a holder key', async () => {
    expect(await judge(await spoiled(1, 1, (c) => delete c.credentialSubject.holder_key))).toBe(
      'delegation_invalid',
    )
    expect(await judge(await spoiled(1, 0, (c) => delete c.credentialSubject.holder_key))).toBe(
      'delegation_invalid',
    )
  })

  test('A116 one revoked link takes all below it along, and none above', async () => {
    const chain = await newChain(issuer, 2)
    for (let revoked = 0; revoked <= 2; revoked++) {
      const known = new PlainSite(trusted(issuer))
      known.credentials.add(findId(chain.links[revoked]))
      for (let i = 0; i <= 2; i++) {
        expect(await judge(chain, createData(known), i), `link ${i} with ${revoked} revoked`).toBe(
          i < revoked ? 'allowed' : 'credential_revoked',
        )
      }
    }
  })

  test('A116 is rejected at once although its signatures are remembered', async () => {
    const known = new PlainSite(trusted(issuer))
    const data = createData(known, { signatures: new SignatureCache() })
    const chain = await newChain(issuer, 2)
    expect(await judge(chain, data)).toBe('allowed')
    expect(await judge(chain, data)).toBe('allowed')
    known.users.add((chain.links[0] as Editable).credentialSubject.id)
    expect(await judge(chain, data)).toBe('credential_revoked')
  })

  test('a chain that breaks a rule is never remembered', async () => {
    const signatures = new SignatureCache()
    const data = createData(site, { signatures })
    const wide = await spoiled(1, 0, (c) => (c.credentialSubject.scope = [READ]))
    expect(await judge(wide, data)).toBe('delegation_invalid')
    expect(await judge(wide, data)).toBe('delegation_invalid')
    expect(signatures.size).toBe(0)
  })

  test('A119 a chain that is too big is rejected by its size', async () => {
    const chain = await newChain(issuer, 3, (_, c) => void (c.note = 'p'.repeat(1500)))
    expect(() => credentialHeader(chain.links[3] as JsonObject)).toThrow(RangeError)
    const header = Buffer.from(JSON.stringify(chain.links[3])).toString('base64url')
    expect(await verify({ header }, { scope: [], nowMs: NOW }, createData(site))).toMatchObject({
      code: 'header_too_large',
    })
  })

  test('the holder of a parent cannot use the child, nor the other way round', async () => {
    const chain = await newChain(issuer, 1)
    const [root, child] = [shown(chain.links[0] as JsonObject), shown(chain.links[1] as JsonObject)]
    const [rootHolder, childHolder] = chain.holders as [Party, Party]
    expect(await verify(child, await signedDemand(rootHolder, child), createData(site))).toMatchObject({
      code: 'proof_invalid',
    })
    expect(await verify(root, await signedDemand(childHolder, root), createData(site))).toMatchObject({
      code: 'proof_invalid',
    })
  })
})

describe('group 8: possession, through the whole decision', () => {
  test('A096 A097 A101 without, with another holder’s, and with a used proof', async () => {
    const chain = await newChain(issuer, 0)
    const { presented, demand } = await showLink(chain)
    const { request, ...unsigned } = demand
    const bare = request && {
      ...request,
      header: (name: string) => (name.startsWith('signature') ? undefined : request.header(name)),
    }
    expect(
      await verify(presented, { ...unsigned, ...(bare && { request: bare }) }, createData(site)),
    ).toMatchObject({
      code: 'proof_required',
    })
    expect(await verify(presented, await signedDemand(attacker, presented), createData(site))).toMatchObject({
      code: 'proof_invalid',
    })
    expect(await verify(presented, demand, createData(site))).toMatchObject({ ok: true })
    expect(await verify(presented, demand, createData(site))).toMatchObject({ code: 'proof_replayed' })
  })
})
