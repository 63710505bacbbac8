import { isUtf8 } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import type { Sealer } from '../keys/seal.ts'
import { Problem } from '../problem.ts'
import type { Page } from '../store/store.ts'

/** What a list was asked for, and which list it is: `issuers shop.example`. A cursor works for the list that gave it, and for no other. */
export interface ListRequest {
  readonly list: string
  readonly limit: number
  readonly cursor: string | undefined
}

interface ListAnswer<Item> {
  items: Item[]
  next_cursor: string | null
}

const MARK_BYTES = 16
const NAME_BYTES_MAX = Math.floor((limits.cursor_chars_max * 3) / 4) - MARK_BYTES

/** The text of a cursor: the name of the last row shown, marked as ours. A name that is too long is a fault: its list must shorten it. */
export function cursorText(keys: Pick<Sealer, 'mark'>, list: string, after: string): string {
  const name = Buffer.from(after)
  if (name.length > NAME_BYTES_MAX) throw new Error('the name of a row is too long for a cursor')
  return Buffer.concat([keys.mark(`cursor ${list}`, after), name]).toString('base64url')
}

/** The name in a cursor that we gave out for this list. Undefined for everything else. */
export function parseCursor(keys: Pick<Sealer, 'mark'>, list: string, cursor: string): string | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  const name = bytes.subarray(MARK_BYTES)
  if (bytes.length <= MARK_BYTES || bytes.toString('base64url') !== cursor || !isUtf8(name)) return undefined
  const after = name.toString('utf8')
  return timingSafeEqual(bytes.subarray(0, MARK_BYTES), keys.mark(`cursor ${list}`, after)) ? after : undefined
}

/** Whether a name fits into a cursor as it is. */
export function fitsCursor(after: string): boolean {
  return Buffer.byteLength(after) <= NAME_BYTES_MAX
}

/**
 * One page of a list. One row more than asked for is read, to know whether there are more. Throws `cursor_malformed` for a cursor that is not
 * one of this list.
 */
export async function listPage<Row, Item>(
  keys: Pick<Sealer, 'mark'>,
  { list, limit, cursor }: ListRequest,
  read: (page: Page) => Promise<readonly Row[]>,
  nameOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
): Promise<ListAnswer<Item>> {
  const after = cursor === undefined ? undefined : parseCursor(keys, list, cursor)
  if (cursor !== undefined && after === undefined) throw new Problem('cursor_malformed')
  const rows = await read({ after, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { items: shown.map(itemOf), next_cursor: last === undefined ? null : cursorText(keys, list, nameOf(last)) }
}
