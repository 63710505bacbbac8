import { beforeAll, describe, expect, test } from 'vitest'
import { type DelegationTerms, delegateCredential } from '../../src/credential/delegate.ts'
import { readCredentialObject } from '../../src/credential/read.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { checkProof } from '../../src/proof/check.ts'
import { requireSuite } from '../../src/proof/suites.ts'
import {
  at,
  type Editable,
  edited,
  issue,
  NOW,
  newCredentialId,
  newParty,
  type Party,
  READ,
  WRITE,
} from '../sample.ts'

const PARENT_UNTIL = NOW + 3_600_000

let issuer: Party
let agent: Party
let partner: Party
let parent: JsonObject
beforeAll(async () => {
  ;[issuer, agent, partner] = await Promise.all([newParty(), newParty(), newParty()])
  parent = await issue(issuer, { holderKey: agent.did, delegable: true })
})

function delegation(changes: Partial<DelegationTerms> = {}): DelegationTerms {
  return {
    credentialId: newCredentialId(),
    scope: [READ],
    holderKey: partner.did,
    validFromMs: NOW,
    validUntilMs: NOW + 60_000,
    ...changes,
  }
}
const by = ({ key }: Party, createdMs = NOW) => ({ key, createdMs })
const delegationError = (...words: string[]) =>
  new TypeError(`cannot delegate this credential: ${words.join('; ')}`)

describe('a delegated credential', () => {
  test('takes user, site and permission over from its parent, and carries the parent', async () => {
    const wanted = delegation({ delegable: true })
    const { proof, ...unsecured } = (await delegateCredential(parent, wanted, by(agent))) as Editable
    const { credentialSubject } = parent as Editable
    expect(unsecured).toStrictEqual({
      '@context': parent['@context'],
      id: `did:service:${wanted.credentialId}`,
      type: parent.type,
      issuer: agent.did,
      validFrom: at(0),
      validUntil: at(60),
      credentialSubject: {
        id: credentialSubject.id,
        site_id: 'shop.example',
        scope: [READ],
        permission_id: 'perm_orders',
        holder_key: partner.did,
        delegable: true,
      },
      parent,
    })
    expect(proof).toMatchObject({
      verificationMethod: agent.method,
      created: at(0),
      proofPurpose: 'assertionMethod',
    })
  })

  test.each(['Ed25519', 'P-256'] as const)("is signed by its parent's holder key: %s", async (algorithm) => {
    const holder = await newParty(algorithm)
    const child = await delegateCredential(
      await issue(issuer, { holderKey: holder.did, delegable: true }),
      delegation(),
      by(holder),
    )
    expect(await checkProof(child, holder.key.publicKey, requireSuite(algorithm))).toBe(true)
    expect(await checkProof({ ...child, parent }, holder.key.publicKey, requireSuite(algorithm))).toBe(false)
  })

  test('can be read back with its parent behind it', async () => {
    const read = readCredentialObject(await delegateCredential(parent, delegation(), by(agent))) as Editable
    expect(read.credential).toMatchObject({
      issuer: agent.did,
      scope: [READ],
      holderKey: partner.did,
      delegable: false,
      createdMs: NOW,
    })
    expect(read.credential.parent).toStrictEqual((readCredentialObject(parent) as Editable).credential)
  })

  test('is not delegable unless that was asked for, in so many words', async () => {
    for (const delegable of [undefined, false, 'true', 1]) {
      const child = (await delegateCredential(
        parent,
        { ...delegation(), delegable } as Editable,
        by(agent),
      )) as Editable
      expect(child.credentialSubject).not.toHaveProperty('delegable')
    }
  })

  test('names no permission if its parent names none', async () => {
    const plain = edited(parent, (copy) => delete copy.credentialSubject.permission_id)
    const child = (await delegateCredential(plain, delegation(), by(agent))) as Editable
    expect(Object.keys(child.credentialSubject)).toEqual(['id', 'site_id', 'scope', 'holder_key'])
  })

  test('takes nothing from a delegation that its type does not have', async () => {
    const greedy = {
      ppid: 'did:service:ppid_evilevil',
      siteId: 'evil.example',
      permissionId: 'perm_admin',
      parent: undefined,
    }
    const plain = edited(parent, (copy) => delete copy.credentialSubject.permission_id)
    const child = (await delegateCredential(
      plain,
      { ...delegation(), ...greedy } as Editable,
      by(agent),
    )) as Editable
    expect(child.credentialSubject).toStrictEqual({
      id: (parent as Editable).credentialSubject.id,
      site_id: 'shop.example',
      scope: [READ],
      holder_key: partner.did,
    })
    expect(child.parent).toEqual(plain)
  })

  test.each<[string, Partial<DelegationTerms>]>([
    ['all the scope of its parent, in any order', { scope: [WRITE, READ] }],
    ['no scope at all', { scope: [] }],
    ['the very end of its parent', { validUntilMs: PARENT_UNTIL }],
    ['an earlier beginning than its parent, which has no effect', { validFromMs: NOW - 3_600_000 }],
  ])('may have %s', async (_, changes) => {
    expect(
      readCredentialObject(await delegateCredential(parent, delegation(changes), by(agent))),
    ).toHaveProperty('credential')
  })

  test('may be delegated up to three times', async () => {
    let link = parent
    for (const [from, to] of [
      [agent, partner],
      [partner, agent],
      [agent, partner],
    ] as const) {
      link = await delegateCredential(link, delegation({ holderKey: to.did, delegable: true }), by(from))
      expect(readCredentialObject(link)).toHaveProperty('credential.parent')
    }
    await expect(delegateCredential(link, delegation(), by(partner))).rejects.toThrow(
      delegationError('it has been delegated 3 times already'),
    )
  })
})

describe('a delegation that no verifier would accept', () => {
  test.each<[string, (parent: Editable) => void, Partial<DelegationTerms>, string[]]>([
    [
      'A115 of a parent that says nothing of delegation',
      (copy) => delete copy.credentialSubject.delegable,
      {},
      ['it is not delegable'],
    ],
    [
      'A115 of a parent that says no',
      (copy) => {
        copy.credentialSubject.delegable = false
      },
      {},
      ['it is not delegable'],
    ],
    [
      'A112 with a key that is not its holder key',
      (copy) => {
        copy.credentialSubject.holder_key = partner.did
      },
      {},
      ['the key is not its holder key'],
    ],
    [
      'of a parent without holder key',
      (copy) => delete copy.credentialSubject.holder_key,
      {},
      ['the key is not its holder key'],
    ],
    [
      'A109 of a scope that the parent has not',
      () => {},
      { scope: [READ, 'admin'] },
      ['it does not have that scope'],
    ],
    [
      'A109 of a scope that only begins like one',
      () => {},
      { scope: ['orders'] },
      ['it does not have that scope'],
    ],
    [
      'A111 one millisecond beyond the end of the parent',
      () => {},
      { validUntilMs: PARENT_UNTIL + 1 },
      ['it expires earlier'],
    ],
    ['to an end that is no number', () => {}, { validUntilMs: Number.NaN }, ['it expires earlier']],
    [
      'without a next holder',
      () => {},
      { holderKey: undefined } as Editable,
      ['holderKey of the next holder is missing'],
    ],
    [
      'with several mistakes, all of which are named',
      (copy) => {
        copy.credentialSubject = { ...copy.credentialSubject, delegable: false, holder_key: partner.did }
      },
      { scope: ['admin'], validUntilMs: PARENT_UNTIL + 1, holderKey: undefined } as Editable,
      [
        'it is not delegable',
        'the key is not its holder key',
        'holderKey of the next holder is missing',
        'it does not have that scope',
        'it expires earlier',
      ],
    ],
  ])('is rejected: %s', async (_, edit, changes, words) => {
    await expect(delegateCredential(edited(parent, edit), delegation(changes), by(agent))).rejects.toThrow(
      delegationError(...words),
    )
  })

  test('is rejected for what the reader would say of the parent', async () => {
    const broken = edited(parent, (copy) => delete copy.validUntil)
    await expect(delegateCredential(broken, delegation(), by(agent))).rejects.toThrow(
      delegationError(
        'The credential is malformed: validUntil is missing or not an RFC 3339 time in UTC with Z. Correct it, or request a new one from its issuer.',
      ),
    )
    await expect(delegateCredential([] as Editable, delegation(), by(agent))).rejects.toThrow(
      delegationError(
        'The credential is malformed: it is not a JSON object. Correct it, or request a new one from its issuer.',
      ),
    )
  })

  test.each<[string, Partial<DelegationTerms>, string]>([
    [
      'an id that is none',
      { credentialId: 'x' },
      'credentialId must be cred_ and 8 to 64 letters, digits, - or _',
    ],
    ['one scope twice', { scope: [READ, READ] }, 'scope must be a list of at most 32 different scopes'],
    [
      'a holder key that is none',
      { holderKey: 'did:web:a.example' },
      'holderKey must be a did:key with a valid key',
    ],
    ['an end before its beginning', { validUntilMs: NOW - 1 }, 'validUntilMs must be later than validFromMs'],
  ])('is rejected like any grant: %s', async (_, changes, words) => {
    await expect(delegateCredential(parent, delegation(changes), by(agent))).rejects.toThrow(
      new TypeError(`cannot issue this credential: ${words}`),
    )
  })

  test('is rejected for a parent of a site that could be no site', async () => {
    const elsewhere = edited(parent, (copy) => {
      copy.credentialSubject.site_id = 'https://shop.example'
    })
    await expect(delegateCredential(elsewhere, delegation(), by(agent))).rejects.toThrow(
      new TypeError('cannot issue this credential: siteId must be a lower-case host name'),
    )
  })
})

describe('the id of a delegated credential', () => {
  test('is none of those above it', async () => {
    const own = String(parent.id).slice('did:service:'.length)
    await expect(delegateCredential(parent, delegation({ credentialId: own }), by(agent))).rejects.toThrow(
      delegationError('the id is already used in its chain'),
    )
    const child = await delegateCredential(parent, delegation({ delegable: true }), by(agent))
    const again = delegation({ credentialId: own, holderKey: agent.did })
    await expect(delegateCredential(child, again, by(partner))).rejects.toThrow(
      delegationError('the id is already used in its chain'),
    )
  })
})

describe('a credential that has become too large', () => {
  test('is not made, because no verifier would read it', async () => {
    const bulky = edited(parent, (c) => {
      c.note = 'p'.repeat(6000)
    })
    await expect(delegateCredential(bulky, delegation(), by(agent))).rejects.toThrow(
      /cannot issue this credential: it has \d+ bytes; at most 6144 are accepted/,
    )
  })
})
