import { hash } from 'node:crypto'

/** An entry of the log before it has its hash. `bodyJson` is canonical already. */
export interface EntryContent {
  readonly epoch: string
  readonly seq: number
  readonly siteId: string
  readonly kind: string
  readonly bodyJson: string
  readonly at: string
  readonly prevHash: string
}

/**
 * The same hash as the core's `createEntry`, without parsing the body again; a test compares the
 * two. No string here can hold a character that RFC 8785 §3.2.2.2 escapes: all have been validated.
 */
export function hashEntry({ epoch, seq, siteId, kind, bodyJson, at, prevHash }: EntryContent): string {
  return hash(
    'sha256',
    `{"at":"${at}","body":${bodyJson},"epoch":"${epoch}","kind":"${kind}","prev_hash":"${prevHash}","seq":${seq},"site_id":"${siteId}"}`,
  )
}
