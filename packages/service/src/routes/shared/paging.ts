import { isUtf8 } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import type { RouteAnswer } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import { Problem } from '../../problem.ts'
import type { Sealer } from '../../sealing/sealer.ts'
import type { Page } from '../../store/page.ts'

/**
 * A request for a page of a list. `list` names the list, such as `issuers shop.example`. A cursor
 * is valid only for the list that gave it out.
 */
export interface ListRequest {
  readonly list: string
  readonly limit: number
  readonly cursor?: string | undefined
}

interface ListAnswer<Item> {
  items: Item[]
  next_cursor: string | null
}

type PageReaders<Row, Item> = [
  loadRows: (page: Page) => Promise<readonly Row[]>,
  toName: (row: Row) => string,
  toItem: (row: Row) => Item,
  isListed?: (item: Item) => boolean,
]

const MAC_BYTES = 16
/** How many rows are read for one page with a filter: a few milliseconds of work for a store. */
export const FILTERED_ROWS_MAX = 1000
const NAME_BYTES_MAX = Math.floor((limits.cursor_chars_max * 3) / 4) - MAC_BYTES

/**
 * A cursor: the name of the last row of a page, with a MAC. Throws when the name is too long; the
 * list must shorten it.
 */
export function createCursor(keys: Pick<Sealer, 'mac'>, list: string, after: string): string {
  const name = Buffer.from(after)
  if (name.length > NAME_BYTES_MAX) throw new Error('the name of a row is too long for a cursor')
  return Buffer.concat([keys.mac(`cursor ${list}`, after), name]).toString('base64url')
}

/** The name in a cursor that this service created for this list. Undefined for any other text. */
export function parseCursor(keys: Pick<Sealer, 'mac'>, list: string, cursor: string): string | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  const name = bytes.subarray(MAC_BYTES)
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== cursor || !isUtf8(name)) return undefined
  const after = name.toString('utf8')
  return timingSafeEqual(bytes.subarray(0, MAC_BYTES), keys.mac(`cursor ${list}`, after)) ? after : undefined
}

/** Whether a name is short enough for a cursor. */
export function fitsCursor(after: string): boolean {
  return Buffer.byteLength(after) <= NAME_BYTES_MAX
}

/**
 * One page of a list. Loads one row more than the limit, to know whether there are more. With
 * `isListed` the page has only the items that it accepts. At most `FILTERED_ROWS_MAX` rows are read
 * for such a page, so it may be short or empty and still have a `next_cursor`. Throws
 * `cursor_malformed` for a cursor of another list.
 */
export async function loadPage<Row, Item>(
  keys: Pick<Sealer, 'mac'>,
  { list, limit, cursor }: ListRequest,
  ...[loadRows, toName, toItem, isListed]: PageReaders<Row, Item>
): Promise<ListAnswer<Item>> {
  const after = cursor === undefined ? undefined : parseCursor(keys, list, cursor)
  if (cursor !== undefined && after === undefined) throw new Problem('cursor_malformed')
  const rowsMax = isListed === undefined ? limit + 1 : FILTERED_ROWS_MAX
  const rows = await loadRows({ after, limit: rowsMax })
  const items: Item[] = []
  let last: Row | undefined
  let left = rows.length
  for (const row of rows) {
    if (items.length === limit) break
    const item = toItem(row)
    if (isListed?.(item) ?? true) items.push(item)
    last = row
    left--
  }
  const isMore = left > 0 || (isListed !== undefined && rows.length === rowsMax)
  return { items, next_cursor: last !== undefined && isMore ? createCursor(keys, list, toName(last)) : null }
}

/** Answers with the page of a list that the query of a request names. See `loadPage`. */
export async function answerPage<Row, Item>(
  { query }: { readonly query: Omit<ListRequest, 'list'> },
  { keys }: Pick<Deps, 'keys'>,
  list: string,
  ...read: PageReaders<Row, Item>
): Promise<RouteAnswer> {
  return { status: 200, body: await loadPage(keys, { ...query, list }, ...read) }
}
