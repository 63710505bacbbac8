import { checkGrounds, findRoot, listChain, recheckAccess, toGrounds, verify } from '@countersign/core'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { type Chain, newChain, showLink } from '../packages/core/test/chain.ts'
import { createLog, createView, type Saying } from '../packages/core/test/log/log-sample.ts'
import {
  at,
  createData,
  createDemand,
  NOW,
  newParty,
  type Party,
  SITE,
} from '../packages/core/test/sample.ts'
import { tokenFacts } from '../packages/service/src/access/token-finder.ts'
import { recheckPresentation } from '../packages/service/src/actions/finish-sign-in.ts'
import { toCredentialState } from '../packages/service/src/actions/revocation-status.ts'
import type { CredentialRow } from '../packages/service/src/store/operations/credentials.ts'
import type { SignInPresentation } from '../packages/service/src/store/operations/sign-ins.ts'
import type { TokenRow } from '../packages/service/src/store/operations/tokens.ts'

let issuer: Party
let chain: Chain
beforeAll(async () => {
  issuer = await newParty()
  chain = await newChain(issuer, 2)
})

/** Seconds from NOW. The sample credentials are signed at -1 and end at 3600. */
const second = fc.constantFrom(-3, -2, -1, 0)

test('a request, a running request, a token, a sign-in and a status give the same answer for any history', {
  tags: 'long',
}, async () => {
  const trusted = siteTrusting('active')
  const before = await accepted([...trusted])
  const credential = before.credential
  const root = findRoot(credential)
  const ids = listChain(credential, before.holders).map(({ credentialId }) => credentialId)
  const keyId = issuer.method.slice(issuer.did.length + 1)
  const anySaying: fc.Arbitrary<Saying> = fc.oneof(
    fc
      .record({ id: fc.constantFrom(...ids), s: second })
      .map(({ id, s }) => say('credential.revoked', { credential_id: id, revoked_at: at(s) })),
    second.map((s) => say('user.revoked', { ppid: credential.ppid, revoked_at: at(s) })),
    second.map((s) => say('user.reinstated', { ppid: credential.ppid, reinstated_at: at(s) })),
    second.map((s) => say('key.retired', { issuer: issuer.did, key_id: keyId, at: at(s) })),
    fc.constant(say('key.compromised', { issuer: issuer.did, key_id: keyId, at: at(0) })),
    fc.constant(say('issuer.distrusted', { issuer: issuer.did })),
    fc.constantFrom('active' as const, 'none' as const).map((keys) => siteTrusting(keys)[1]),
  )
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.array(anySaying, { maxLength: 4 }),
      fc.constantFrom(NOW, NOW, NOW, NOW + 3_599_999, NOW + 3_600_000),
      async (sayings, nowMs) => {
        const site = createView(await createLog([...trusted, ...sayings]))
        const code = checkGrounds(toGrounds(credential, before.holders), site, nowMs)?.code
        seen.add(String(code))

        // A new request: its holder proof is only valid now, so it is the last check and comes
        // after the grounds.
        const { presented, demand } = await showLink(chain)
        const verdict = await verify(presented, { ...demand, nowMs }, createData(site))
        if (verdict.ok) expect(code).toBeUndefined()
        else if (verdict.code !== 'proof_invalid') expect(verdict.code).toBe(code)

        // A request that was accepted before and still runs.
        expect(recheckAccess(before, createDemand({ nowMs }), createData(site))?.code).toBe(code)

        // A bearer token of this credential that ends with it.
        const common = {
          siteId: SITE,
          ppid: credential.ppid,
          scope: credential.scope,
          chain: listChain(credential, before.holders),
        }
        const origin = { issuer: root.issuer, issuerKey: root.verificationMethod }
        const row = {
          ...common,
          ...origin,
          sha256: 'a'.repeat(64),
          issuedAtMs: NOW,
          expiresAtMs: credential.validUntilMs,
        }
        const token = await verify(
          { token: tokenFacts(row as unknown as TokenRow) },
          createDemand({ nowMs }),
          createData(site),
        )
        expect(token.ok ? undefined : token.code).toBe(code && 'token_invalid')

        // A sign-in that is completed now.
        const presentation = {
          ...common,
          ...origin,
          credentialEndsAtMs: credential.validUntilMs,
          isCancelled: false,
        }
        expect(recheckPresentation(presentation as unknown as SignInPresentation, site, nowMs)).toBe(code)

        // The status of the credential, which says nothing of its issuer.
        const stored = {
          ...common,
          validUntilMs: credential.validUntilMs,
          revocation: undefined,
        } as unknown as CredentialRow
        const views = { view: () => site } as unknown as Parameters<typeof toCredentialState>[0]['views']
        const { status } = toCredentialState({ views }, stored, nowMs)
        if (code === undefined) expect(status).toBe('active')
        if (code === 'credential_revoked') expect(status).toBe('revoked')
        if (code === 'credential_expired') expect(status).not.toBe('active')
        if (status === 'revoked') expect(code).toBeDefined()
      },
    ),
    { numRuns: 200, seed: 12 },
  )
  // Control: the histories reach every answer.
  expect([...seen].sort()).toEqual(
    [
      'credential_expired',
      'credential_revoked',
      'credential_signature_invalid',
      'issuer_untrusted',
      'undefined',
    ].sort(),
  )
})

function siteTrusting(keys: 'active' | 'none'): [Saying, Saying] {
  const { multikey } = issuer.key.publicKey
  const id = issuer.method.slice(issuer.did.length + 1)
  return [
    say('site.changed', {
      bearer: 'on',
      holder_proof: 'optional',
      delegation: 'on',
      credential_ttl_seconds_max: null,
    }),
    say('issuer.trusted', {
      issuer: issuer.did,
      keys: keys === 'none' ? [] : [{ id, key: multikey, status: 'active' }],
      scope: null,
      credential_ttl_seconds_max: null,
    }),
  ]
}

function say<Kind extends Saying['kind']>(kind: Kind, body: Extract<Saying, { kind: Kind }>['body']): Saying {
  return { kind, body } as Saying
}

async function accepted(sayings: Saying[]) {
  const { presented, demand } = await showLink(chain)
  const verdict = await verify(presented, demand, createData(createView(await createLog(sayings))))
  if (!verdict.ok || verdict.presented !== 'credential') throw new Error('the sample must be accepted')
  return verdict
}
