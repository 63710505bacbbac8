import type { CallOptions } from '@countersign/sdk'
import type { Given } from '../command.ts'
import { omitUndefined } from '../input/option-values.ts'
import type { DevFile } from './connection.ts'

/**
 * A holder who revokes its own credential: its claims, and the call options that authenticate with
 * the credential instead of an API key.
 */
export interface Holder {
  readonly siteId: string
  readonly ppid: string
  readonly credentialId: string
  readonly options: CallOptions
}

/** Loads the holder for `--self`; undefined without that flag. */
export async function loadHolder(given: Given, dev: DevFile | undefined): Promise<Holder | undefined> {
  if (!given.has('self')) return undefined
  const { chooseCredential } = await import('../credential/read-credential.ts')
  const { document, signed, holderKey } = await chooseCredential(given, dev)
  const { site, ppid, id } = signed.credential
  return {
    siteId: site,
    ppid,
    credentialId: id,
    options: { credential: document, ...omitUndefined({ holderKey }) },
  }
}
