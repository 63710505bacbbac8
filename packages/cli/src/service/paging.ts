import { CommandError, type Given, type Option } from '../command.ts'
import { type Terminal, table } from '../terminal/output.ts'

/** One page of a list of the service. */
interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

const PAGE_ITEMS_MAX = 200

/** The options of every list command. */
export const PAGE_OPTIONS: readonly Option[] = [
  ['--limit <n>', 'print at most n'],
  ['--cursor <text>', 'continue a previous list; --json prints its next_cursor'],
]

type List<Item> = (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>

async function collectPages<Item>(list: List<Item>, limit: number, from: string | null): Promise<Page<Item>> {
  const items: Item[] = []
  const seen = new Set<string>()
  let cursor = from
  do {
    const page = await list({
      limit: Math.min(limit - items.length, PAGE_ITEMS_MAX),
      ...(cursor === null ? {} : { cursor }),
    })
    items.push(...page.items)
    cursor = page.next_cursor
    if (cursor !== null && seen.has(cursor))
      throw new Error('the service returned the same page of the list twice')
    if (cursor !== null) seen.add(cursor)
  } while (cursor !== null && items.length < limit)
  return { items, next_cursor: cursor }
}

/** The columns of a list: each heading with the member below it, or a function for the cell. */
type Columns<Item> = Readonly<Record<string, keyof Item | ((item: Item) => Cell)>>
type Cell = string | number | null | undefined

/**
 * Loads page after page, up to `--limit`, and prints the list. With `--json` it has the form of one
 * page of the service: `next_cursor` is null when there is nothing left.
 */
export async function printList<Item>(
  given: Given,
  at: Terminal,
  /** What is listed, in the plural. */
  nouns: string,
  list: List<Item>,
  columns: Columns<Item>,
  limitDefault = Number.MAX_SAFE_INTEGER,
): Promise<0> {
  const limit = given.integer('limit', { min: 1, max: 1_000_000_000 }) ?? limitDefault
  const page = await collectPages(list, limit, given.text('cursor') ?? null)
  const row = (item: Item) => Object.values(columns).map((column) => toCell(item, column))
  at.result(page, () => table(Object.keys(columns), page.items.map(row)))
  if (page.items.length === 0 && !at.isJson) at.note(`No ${nouns}.`)
  if (page.next_cursor !== null && !at.isJson)
    at.note(`There are more. Add --limit ${page.items.length * 2}, or --cursor ${page.next_cursor}`)
  return 0
}

function toCell<Item>(item: Item, column: Columns<Item>[string]): Cell {
  if (typeof column === 'function') return column(item)
  const value = item[column]
  return Array.isArray(value) ? value.join(' ') : (value as Cell)
}

/**
 * Finds one item in a list, where the service has no endpoint for a single one. Throws a
 * `CommandError` when there is none.
 */
export async function requireListed<Item>(
  list: List<Item>,
  what: string,
  isIt: (item: Item) => boolean,
): Promise<Item> {
  const found = await findListed(list, isIt)
  if (found === undefined) throw new CommandError('not_found', `There is no such ${what}.`)
  return found
}

/** The same; undefined when there is none. */
export async function findListed<Item>(
  list: List<Item>,
  isIt: (item: Item) => boolean,
): Promise<Item | undefined> {
  const { items } = await collectPages(list, Number.MAX_SAFE_INTEGER, null)
  return items.find(isIt)
}
