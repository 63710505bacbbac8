import {
  CREDENTIAL_HEADER,
  decodeBase64url,
  encodeBase64url,
  importPrivateKey,
  isDenial,
  isJsonObject,
  type JsonObject,
  type PrivateKey,
  parseJson,
  readCredentialHeader,
  type SignedCredential,
} from '@countersign/core'
import { type Given, UsageError } from '../command.ts'
import { readSecretFrom, readTextFrom } from '../input/secrets.ts'
import type { DevFile } from '../service/connection.ts'

/** A credential as it was given, and the text of its header, by which it is judged. */
export interface GivenCredential {
  /** Base64url of the very bytes that were given, or of the object inside an answer. */
  readonly header: string
  readonly document: JsonObject
  readonly signed: SignedCredential
}

const DEPTH_MAX = 32

/**
 * The header that carries the credential in a text: the signed object, an answer with a member
 * `credential`, a header line, or its value alone. What is wrong inside is left for the checks to
 * find. Throws a `UsageError` for a text that holds none of these.
 */
export function headerOfText(text: string): string {
  const bare = text.trim().replace(new RegExp(`^${CREDENTIAL_HEADER}:\\s*`, 'i'), '')
  if (!bare.startsWith('{')) {
    if (bare === '' || /\s/.test(bare))
      throw new UsageError(
        'This is not a credential: give the signed object as JSON, or the value of its header.',
      )
    return bare
  }
  const parsed = parseJson(bare, { depthMax: DEPTH_MAX })
  const inner = 'fault' in parsed || !isJsonObject(parsed.value) ? undefined : parsed.value.credential
  // Byte for byte where it can be, so that nothing is tidied up before it is judged.
  return encodeBase64url(
    new TextEncoder().encode(inner !== undefined && isJsonObject(inner) ? JSON.stringify(inner) : bare),
  )
}

/** Reads it as a verifier would. Throws a `UsageError` for what no verifier could read. */
function readGiven(header: string): GivenCredential {
  const signed = readCredentialHeader(header)
  if (isDenial(signed))
    throw new UsageError(
      `This credential cannot be read: ${signed.detail} (${signed.code}). More: countersign inspect`,
    )
  return { header, document: signed.document, signed }
}

/** The object in a header, whatever is wrong with it otherwise; undefined when there is none. */
export function parseHeaderObject(header: string): JsonObject | undefined {
  const bytes = decodeBase64url(header)
  if (bytes === undefined) return undefined
  const parsed = parseJson(new TextDecoder().decode(bytes), { depthMax: DEPTH_MAX })
  return 'fault' in parsed || !isJsonObject(parsed.value) ? undefined : parsed.value
}

/**
 * The credential that a command shows, with its key where it is bound: from `--credential`, else
 * the development one.
 */
export async function chooseCredential(
  given: Given,
  dev: DevFile | undefined,
): Promise<GivenCredential & { readonly holderKey: PrivateKey | undefined }> {
  const file = given.text('credential')
  const keyFile = given.text('holder-key')
  if (file !== undefined && given.has('bound'))
    throw new UsageError('--bound is the credential of data/dev.json; leave --credential out')
  if (file === '-' && keyFile === '-')
    throw new UsageError('only one of --credential and --holder-key can come from the standard input')
  if (file === undefined && dev === undefined)
    throw new UsageError(
      'Which credential? Give --credential <file>; without it only the development start has one, in data/dev.json.',
    )
  const chosen =
    file === undefined
      ? devHeader(dev, given.has('bound'))
      : headerOfText(await readTextFrom(file, 'the credential'))
  const credential = readGiven(chosen)
  return {
    ...credential,
    holderKey: await chooseKey(credential, keyFile, given.has('bound') ? dev : undefined),
  }
}

function devHeader(dev: DevFile | undefined, isBound: boolean): string {
  return headerOfText(JSON.stringify(isBound ? dev?.bound.credential : dev?.credential))
}

async function chooseKey(
  { signed }: GivenCredential,
  file: string | undefined,
  dev: DevFile | undefined,
): Promise<PrivateKey | undefined> {
  const isBound = signed.credential.holderKey !== undefined
  if (file !== undefined && !isBound)
    throw new UsageError('This credential is not bound to a key; leave --holder-key out.')
  if (file !== undefined) return readPrivateKey(file)
  if (dev !== undefined) return importPrivateKey(dev.bound.holder_private_jwk)
  return undefined
}

/**
 * A private JWK from a file that only its owner can read. Throws a `UsageError` for anything else,
 * without a word of the key.
 */
export async function readPrivateKey(file: string): Promise<PrivateKey> {
  const text = await readSecretFrom(file, 'the private key')
  try {
    return await importPrivateKey(JSON.parse(text))
  } catch (fault) {
    const why = fault instanceof TypeError ? fault.message : 'it is not JSON'
    throw new UsageError(
      `${file === '-' ? 'The standard input' : file} is not a private key as countersign keygen makes it: ${why}`,
    )
  }
}

/** For commands that must sign. */
export function requireKey(key: PrivateKey | undefined): PrivateKey {
  if (key === undefined) throw new UsageError('This credential is bound to a key: give --holder-key <file>.')
  return key
}
