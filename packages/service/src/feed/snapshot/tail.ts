import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatTime, GENESIS_HASH, type LogHead, type Ppid, type SiteView } from '@countersign/core'
import { hashEntry } from '../../store/entry-hash.ts'
import type { EntryRecord } from '../../store/operations/log.ts'
import type { Store } from '../../store/store.ts'
import { type DeflatedText, deflateText } from './deflated-text.ts'
import type { PagedLog } from './paged-logs.ts'

/** The lines of a snapshot after its pages: the entries up to `seq`, whose hash is `hash`. */
export interface Tail {
  readonly seq: number
  readonly hash: string
  readonly lines: number
  readonly parts: readonly DeflatedText[]
}

export interface TailOrder {
  readonly store: Pick<Store, 'siteRecordsAfter'>
  readonly view: SiteView
  /** Revocations of tokens before this time are left out. */
  readonly tokensSince: string
  /** Called with each part that is added. */
  readonly onPart: (part: DeflatedText) => void
}

const RECORDS = 1000

/** The tail before the first entry after the pages. */
export function startTail(paged: PagedLog | undefined): Tail {
  return { seq: paged?.seq ?? 0, hash: paged?.hash ?? GENESIS_HASH, lines: 0, parts: [] }
}

/**
 * The tail up to `head`. The log is append-only: up to a given entry it is the same whenever it is
 * read, so no transaction stays open. Recomputes the hash chain, and throws when it does not lead
 * to the head.
 */
export async function extendTail(
  { store, view, tokensSince, onPart }: TailOrder,
  from: Tail,
  head: LogHead,
): Promise<Tail> {
  const { siteId } = view
  let { seq, hash, lines } = from
  const parts = [...from.parts]
  while (seq < head.seq) {
    const records = await store.siteRecordsAfter(siteId, seq, Math.min(RECORDS, head.seq - seq))
    if (records.length === 0) throw new Error(`the log of ${siteId} ends at ${seq} and not at ${head.seq}`)
    const texts: string[] = []
    for (const { kind, body, at } of records) {
      hash = hashEntry({ epoch: head.epoch, seq: ++seq, siteId, kind, bodyJson: body, at, prevHash: hash })
      const text = toLine({ kind, body, at }, view, tokensSince)
      if (text !== undefined) texts.push(`${text}\n`)
    }
    if (texts.length > 0) {
      const part = await deflateText(Buffer.from(texts.join('')))
      parts.push(part)
      onPart(part)
    }
    lines += texts.length
    // Lets other requests run, even if the store never makes this loop wait.
    await nextTurn()
  }
  if (seq !== head.seq || hash !== head.hash)
    throw new Error(`the log of ${siteId} does not lead to its head at ${head.seq}`)
  return { seq, hash, lines, parts }
}

/**
 * A line has the members of its entry and a type, so the text of the body is copied. Undefined for
 * entries that the state of the site includes already.
 */
function toLine(
  { kind, body, at }: Omit<EntryRecord, 'seq'>,
  view: SiteView,
  tokensSince: string,
): string | undefined {
  switch (kind) {
    case 'user.revoked':
      return `{"type":"user",${body.slice(1)}`
    case 'user.signed_out':
      return `{"type":"signed_out",${body.slice(1)}`
    case 'holder.revoked':
      return `{"type":"holder",${body.slice(1)}`
    case 'credential.revoked':
      return `{"type":"credential",${body.slice(1)}`
    case 'token.revoked':
      // RFC 3339 times in UTC can be compared as text, down to the second.
      return at.slice(0, 19) < tokensSince.slice(0, 19) ? undefined : `{"type":"token",${body.slice(1)}`
    case 'user.reinstated':
      return JSON.stringify(reinstatedLine(JSON.parse(body), view))
    case 'site.changed':
    case 'site.cut_off':
    case 'issuer.trusted':
    case 'oauth_issuer.trusted':
    case 'issuer.cut_off':
    case 'issuer.distrusted':
    case 'key.retired':
    case 'key.compromised':
      return undefined
    default:
      throw new Error(`there is no snapshot line for ${kind}`)
  }
}

/** A reinstated user has several lines, in the order of the log, all with the first revocation. */
function reinstatedLine(
  { ppid, reinstated_at }: { ppid: Ppid; reinstated_at: string },
  view: SiteView,
): object {
  const firstMs = view.userRevocation(ppid, 0)?.sinceMs
  return {
    type: 'user',
    ppid,
    revoked_at: firstMs === undefined ? reinstated_at : formatTime(firstMs),
    reinstated_at,
  }
}
