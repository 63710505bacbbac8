import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { accessCredentialSchema } from '../../src/contract/access-credential.ts'
import { type EndpointId, endpointList } from '../../src/contract/endpoints.ts'
import { answers, credential, openAnswers } from '../../src/contract/examples.ts'
import { revocationStateSchema } from '../../src/contract/revocation.ts'

function findAnswer(id: EndpointId): z.ZodType {
  const bodies = Object.values(endpointList.find((one) => one.id === id)?.answers ?? {}).flatMap(
    ({ body }) => body ?? [],
  )
  if (bodies[0] === undefined) throw new Error(`${id} has no answer with a body`)
  return bodies[0]
}

const all = { ...answers, ...openAnswers }
const ids = Object.keys(all) as EndpointId[]
const strictIds = Object.keys(answers) as EndpointId[]

describe('answers', () => {
  test('have a sample each', () => {
    const withBody = endpointList
      .filter(({ answers }) => Object.values(answers).some(({ body }) => body !== undefined))
      .map(({ id }) => id)
    expect([...ids].sort()).toEqual([...withBody].sort())
  })

  test.each(ids)('%s: the example of the contract fits', (id) => {
    for (const example of all[id] ?? []) expect(findAnswer(id).parse(example)).toEqual(example)
  })

  test.each(strictIds)('%s: says nothing that is not in the contract', (id) => {
    for (const example of answers[id] ?? [])
      expect(findAnswer(id).safeParse({ ...example, secret: 'x' }).success).toBe(false)
  })

  test.each(strictIds)('%s: leaves nothing out that it promises', (id) => {
    const [example = {}] = answers[id] ?? []
    const optional = ['propagation']
    for (const member of Object.keys(example)) {
      const { [member]: _left, ...rest } = example
      expect(findAnswer(id).safeParse(rest).success, member).toBe(optional.includes(member))
    }
  })

  test('never call an unknown credential not revoked', () => {
    const states = [
      ['active', false],
      ['expired', false],
      ['revoked', true],
      ['unknown', null],
    ]
    for (const [status] of states) {
      const taken = [true, false, null].filter(
        (revoked) => revocationStateSchema.safeParse({ status, revoked }).success,
      )
      expect(taken).toEqual(states.filter(([one]) => one === status).map(([, revoked]) => revoked))
    }
  })

  test('of an inactive token say that and nothing else', () => {
    const schema = findAnswer('introspect')
    expect(schema.safeParse({ active: false, sub: 'x' }).success).toBe(false)
    expect(schema.safeParse({ active: true }).success).toBe(false)
    expect(schema.safeParse({ active: false, proof: {} }).success).toBe(false)
  })
})

describe('the documented credential', () => {
  test('is the example of the design, also when delegated', () => {
    expect(accessCredentialSchema.parse(credential)).toEqual(credential)
    const child = {
      ...credential,
      issuer: credential.credentialSubject.holder_key,
      parent: credential,
      note: 'signed, but not known',
    }
    expect(accessCredentialSchema.parse(child)).toEqual(child)
    expect(
      accessCredentialSchema.safeParse({ ...child, parent: { ...credential, proof: undefined } }).success,
    ).toBe(false)
  })

  test.each([
    ['@context', ['https://www.w3.org/ns/credentials/v2']],
    ['id', 'cred_01k9x3v0h2e8y6q4b7d5m1n8ra'],
    ['type', ['VerifiableCredential']],
    ['validUntil', undefined],
    ['validUntil', '2026-02-30T00:00:00Z'],
    ['proof', []],
    ['credentialSubject', { ...credential.credentialSubject, scope: 'orders:read' }],
  ])('has no other %s', (member, value) => {
    expect(accessCredentialSchema.safeParse({ ...credential, [member]: value }).success).toBe(false)
  })
})
