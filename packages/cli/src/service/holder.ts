import type { CallOptions } from '@countersign/sdk'
import type { Given } from '../command.ts'
import type { DevFile } from './connection.ts'

/**
 * A holder who revokes its own credential: its claims, and how a call is made with it in place of a
 * key.
 */
export interface Holder {
  readonly siteId: string
  readonly ppid: string
  readonly credentialId: string
  readonly options: CallOptions
}

/** The holder of a credential, for `--self`; undefined without it. */
export async function loadHolder(given: Given, dev: DevFile | undefined): Promise<Holder | undefined> {
  if (!given.has('self')) return undefined
  const { chooseCredential } = await import('../credential/read-credential.ts')
  const { document, signed, holderKey } = await chooseCredential(given, dev)
  const { site, ppid, id } = signed.credential
  return {
    siteId: site,
    ppid,
    credentialId: id,
    options: { credential: document, ...(holderKey === undefined ? {} : { holderKey }) },
  }
}
