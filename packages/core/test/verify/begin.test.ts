import { expect, test } from 'vitest'
import { credentialHeader } from '../../src/credential/header.ts'
import { beginVerification } from '../../src/verify/begin.ts'
import { VerificationContext } from '../../src/verify/context.ts'
import { SignatureCache } from '../../src/verify/signature-cache.ts'
import { createData, createDemand, issue, newParty, PlainSite, trusted } from '../sample.ts'

test('returns what it has made, and decides and remembers nothing', async () => {
  const issuer = await newParty()
  const header = credentialHeader(await issue(issuer))
  const signatures = new SignatureCache()
  const data = { ...createData(new PlainSite(trusted(issuer))), signatures }
  const [context] = beginVerification(header, createDemand(), data) as [VerificationContext]
  expect(context).toBeInstanceOf(VerificationContext)
  expect(context.credential.issuer).toBe(issuer.did)
  expect(() => context.signedBy).toThrow('no earlier check has set the signature')
  expect(signatures.findDigest(header)).toBeUndefined()
})

test.each(['', 'e30', '#'])('throws for %j, which is no credential', (header) => {
  expect(() => beginVerification(header, createDemand(), createData(new PlainSite()))).toThrow(
    new TypeError('the header has no credential'),
  )
})
