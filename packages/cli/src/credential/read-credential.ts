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

/** A credential from the command line, with the header that is verified. */
export interface GivenCredential {
  /** Base64url of the bytes that were given, or of the object inside a response. */
  readonly header: string
  readonly document: JsonObject
  readonly signed: SignedCredential
}

const DEPTH_MAX = 32

/**
 * Converts a text to the credential header. The text is the signed object, a response with a member
 * `credential`, a header line, or the value of the header. The checks find what is wrong inside.
 * Throws a `UsageError` for any other text.
 */
export function toCredentialHeader(text: string): string {
  const bare = text.trim().replace(new RegExp(`^${CREDENTIAL_HEADER}:\\s*`, 'i'), '')
  if (!bare.startsWith('{')) {
    if (bare === '' || /\s/.test(bare))
      throw new UsageError(
        'The input is not a credential. Give the signed object as JSON, or the value of its header.',
      )
    return bare
  }
  const parsed = parseJson(bare, { depthMax: DEPTH_MAX })
  const inner = 'fault' in parsed || !isJsonObject(parsed.value) ? undefined : parsed.value.credential
  // Keeps the bytes where possible, so that the checks see what was given.
  return encodeBase64url(
    new TextEncoder().encode(inner !== undefined && isJsonObject(inner) ? JSON.stringify(inner) : bare),
  )
}

/** Throws a `UsageError` for a credential that no verifier could read. */
function readGiven(header: string): GivenCredential {
  const signed = readCredentialHeader(header)
  if (isDenial(signed))
    throw new UsageError(
      `The credential cannot be read (${signed.code}). ${signed.detail} To see every check: countersign inspect`,
    )
  return { header, document: signed.document, signed }
}

/** The JSON object in a header, valid or not as a credential; undefined when there is none. */
export function parseHeaderObject(header: string): JsonObject | undefined {
  const bytes = decodeBase64url(header)
  if (bytes === undefined) return undefined
  const parsed = parseJson(new TextDecoder().decode(bytes), { depthMax: DEPTH_MAX })
  return 'fault' in parsed || !isJsonObject(parsed.value) ? undefined : parsed.value
}

/** The text of `--credential`; undefined without that option. */
export async function readGivenText(given: Given): Promise<string | undefined> {
  const file = given.text('credential')
  return file === undefined ? undefined : readTextFrom(file, 'the credential')
}

/**
 * Loads the credential to present, and its key if it is bound: from `--credential`, or else from
 * `data/dev.json`. `text` is that of `--credential`, if it has been read already.
 */
export async function chooseCredential(
  given: Given,
  dev: DevFile | undefined,
  text?: string,
): Promise<GivenCredential & { readonly holderKey: PrivateKey | undefined }> {
  const file = given.text('credential')
  const keyFile = given.text('holder-key')
  if (file !== undefined && given.has('bound'))
    throw new UsageError('--bound uses the credential of data/dev.json. Leave out --credential or --bound.')
  if (file === '-' && keyFile === '-')
    throw new UsageError('Only one of --credential and --holder-key can come from standard input.')
  if (file === undefined && dev === undefined)
    throw new UsageError(
      'Missing credential. Give --credential <file>, or start the development service, which writes one to data/dev.json: countersign dev',
    )
  const chosen =
    file === undefined
      ? toDevHeader(dev, given.has('bound'))
      : toCredentialHeader(text ?? (await readTextFrom(file, 'the credential')))
  const credential = readGiven(chosen)
  return {
    ...credential,
    holderKey: await chooseKey(credential, keyFile, given.has('bound') ? dev : undefined),
  }
}

function toDevHeader(dev: DevFile | undefined, isBound: boolean): string {
  return toCredentialHeader(JSON.stringify(isBound ? dev?.bound.credential : dev?.credential))
}

async function chooseKey(
  { signed }: GivenCredential,
  file: string | undefined,
  dev: DevFile | undefined,
): Promise<PrivateKey | undefined> {
  const isBound = signed.credential.holderKey !== undefined
  if (file !== undefined && !isBound)
    throw new UsageError('This credential is not bound to a key. Leave out --holder-key.')
  if (file !== undefined) return readPrivateKey(file)
  if (dev !== undefined) return importPrivateKey(dev.bound.holder_private_jwk)
  return undefined
}

/**
 * Reads a private JWK from a file that only its owner can read. Throws a `UsageError` otherwise;
 * the message contains no part of the key.
 */
export async function readPrivateKey(file: string): Promise<PrivateKey> {
  const text = await readSecretFrom(file, 'the private key')
  try {
    return await importPrivateKey(JSON.parse(text))
  } catch (fault) {
    const why = fault instanceof TypeError ? fault.message : 'it is not JSON'
    throw new UsageError(
      `${file === '-' ? 'Standard input' : file} is not a private key as countersign keygen writes it: ${why}`,
    )
  }
}

/** Throws a `UsageError` without a key. */
export function requireKey(key: PrivateKey | undefined): PrivateKey {
  if (key === undefined) throw new UsageError('This credential is bound to a key. Give --holder-key <file>.')
  return key
}
