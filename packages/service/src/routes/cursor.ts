import { isUtf8 } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { Sealer } from '../sealing/sealer.ts'
import type { Page } from '../store/store.ts'

/**
 * What a list was asked for, and which list it is: `issuers shop.example`. A cursor works for the
 * list that gave it, and for no other.
 */
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
/** A few milliseconds of work for a store, whatever is asked for. */
const LOOKED_AT_MAX = 1000
const NAME_BYTES_MAX = Math.floor((limits.cursor_chars_max * 3) / 4) - MARK_BYTES

/**
 * The text of a cursor: the name of the last row shown, marked as ours. A name that is too long is
 * a fault: its list must shorten it.
 */
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
  return timingSafeEqual(bytes.subarray(0, MARK_BYTES), keys.mark(`cursor ${list}`, after))
    ? after
    : undefined
}

/** Whether a name fits into a cursor as it is. */
export function fitsCursor(after: string): boolean {
  return Buffer.byteLength(after) <= NAME_BYTES_MAX
}

/**
 * One page of a list. One row more than asked for is read, to know whether there are more. With
 * `fits` only items that do are shown, and so many rows are looked at for one page and no more,
 * however few of them fit: the page may then be short, or empty, and yet have a `next_cursor`.
 * Throws `cursor_malformed` for a cursor that is not one of this list.
 */
export async function listPage<Row, Item>(
  keys: Pick<Sealer, 'mark'>,
  { list, limit, cursor }: ListRequest,
  read: (page: Page) => Promise<readonly Row[]>,
  nameOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
  fits?: (item: Item) => boolean,
): Promise<ListAnswer<Item>> {
  const after = cursor === undefined ? undefined : parseCursor(keys, list, cursor)
  if (cursor !== undefined && after === undefined) throw new Problem('cursor_malformed')
  const rowsMax = fits === undefined ? limit + 1 : LOOKED_AT_MAX
  const rows = await read({ after, limit: rowsMax })
  const items: Item[] = []
  let last: Row | undefined
  let left = rows.length
  for (const row of rows) {
    if (items.length === limit) break
    const item = itemOf(row)
    if (fits?.(item) ?? true) items.push(item)
    last = row
    left--
  }
  const isMore = left > 0 || (fits !== undefined && rows.length === rowsMax)
  return { items, next_cursor: last !== undefined && isMore ? cursorText(keys, list, nameOf(last)) : null }
}
