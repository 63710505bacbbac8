import { isDenial } from '../credential/denial.ts'
import { readCredentialHeader } from '../credential/read.ts'
import { decodeBase64url } from '../encoding/base64url.ts'
import { JsonReader } from '../encoding/json.ts'
import { decodeUtf8 } from '../encoding/utf8.ts'
import { VerificationContext } from './context.ts'
import type { Demand } from './demand.ts'
import type { RevocationData } from './revocation-data.ts'

/**
 * Reads a credential as `verify` does and returns the objects that this makes, for a process that
 * keeps one of each. Decides nothing. Throws a TypeError when the header has no credential.
 */
export function beginVerification(header: string, demand: Demand, data: RevocationData): readonly object[] {
  const signed = readCredentialHeader(header)
  const bytes = decodeBase64url(header)
  const text = bytes && decodeUtf8(bytes)
  if (isDenial(signed) || text === undefined) throw new TypeError('the header has no credential')
  const context = new VerificationContext({ header }, demand, data)
  context.signed = signed
  context.credential = signed.credential
  return [context, context.grounds, new JsonReader(text, { depthMax: 1 })]
}
