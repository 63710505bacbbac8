import { beforeAll, describe, expect, test } from 'vitest'
import { CREDENTIAL_HEADER, credentialHeader } from '../../src/credential/header.ts'
import { readCredentialHeader } from '../../src/credential/read.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { issue, newParty, weighing } from '../sample.ts'

let good: JsonObject
beforeAll(async () => {
  good = await issue(await newParty())
})

describe('the credential header', () => {
  test('has the name that the contract gives it', () => {
    expect(CREDENTIAL_HEADER).toBe('x-service-credential')
  })

  test('is base64url, without padding, of the UTF-8 JSON of the whole signed object', () => {
    for (const note of ['', 'a', 'ab', 'abc', '\u00e9\u{1f600}']) {
      const header = credentialHeader({ ...good, note })
      expect(header).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(JSON.parse(Buffer.from(header, 'base64url').toString('utf8'))).toEqual({ ...good, note })
    }
  })

  test('is read back as the same object', () => {
    expect(readCredentialHeader(credentialHeader(good))).toHaveProperty('document', good)
  })

  test('is written up to 8192 characters, which is what 6144 bytes take', () => {
    const header = credentialHeader(weighing(good, 6144))
    expect(header).toHaveLength(8192)
    expect(readCredentialHeader(header)).toHaveProperty('credential')
  })

  test('is not written for a credential that no verifier would take', () => {
    expect(() => credentialHeader(weighing(good, 6145))).toThrow(
      new RangeError('this credential has 8194 characters in a header; at most 8192 are accepted'),
    )
  })
})
