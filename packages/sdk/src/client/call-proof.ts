import {
  CREDENTIAL_HEADER,
  credentialHeader,
  holderRequestFrom,
  type JsonObject,
  type PrivateKey,
  signRequest,
} from '@countersign/core'

/** The header field that presents a credential. */
export function credentialField(credential: Readonly<Record<string, unknown>>): Record<string, string> {
  return { [CREDENTIAL_HEADER]: credentialHeader(credential as JsonObject) }
}

/** The fields that sign a call; new ones for each try, since a nonce works once. */
export async function proofFields(
  call: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | undefined
  },
  key: PrivateKey,
  nowMs: number,
): Promise<Record<string, string>> {
  const fields = { get: (name: string) => call.headers[name] ?? null }
  const bytes = call.body === undefined ? 'none' : new TextEncoder().encode(call.body)
  return { ...(await signRequest(holderRequestFrom(call.method, call.url, fields, bytes), { key, nowMs })) }
}
