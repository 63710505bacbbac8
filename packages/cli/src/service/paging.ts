import { CommandError, type Given, type Option } from '../command.ts'
import { type Terminal, table } from '../terminal/output.ts'

/** One page of a list of the service. */
interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

const PAGE_ITEMS_MAX = 200

/** Of every list. */
export const PAGE_OPTIONS: readonly Option[] = [
  ['--limit <n>', 'at most so many'],
  ['--cursor <text>', 'go on where another list ended; see next_cursor with --json'],
]

type List<Item> = (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>

/**
 * What a list command was asked for: page after page, up to `--limit`. Its `next_cursor` is null
 * when that was all of it.
 */
export function loadPages<Item>(
  given: Given,
  list: List<Item>,
  limitDefault = Number.MAX_SAFE_INTEGER,
): Promise<Page<Item>> {
  return collectPages(
    list,
    given.integer('limit', { min: 1, max: 1_000_000_000 }) ?? limitDefault,
    given.text('cursor') ?? null,
  )
}

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
    if (cursor !== null && seen.has(cursor)) throw new Error('the list leads in a circle')
    if (cursor !== null) seen.add(cursor)
  } while (cursor !== null && items.length < limit)
  return { items, next_cursor: cursor }
}

/** Prints a list: with `--json` as the service would, in one page. */
export function printList<Item>(
  at: Terminal,
  page: Page<Item>,
  headings: readonly string[],
  row: (item: Item) => readonly (string | number | null | undefined)[],
): 0 {
  at.result(page, () => table(headings, page.items.map(row)))
  if (page.items.length === 0 && !at.isJson) at.note('There are none.')
  if (page.next_cursor !== null && !at.isJson)
    at.note(`There are more: --limit ${page.items.length * 2}, or --cursor ${page.next_cursor}`)
  return 0
}

/**
 * Finds one item by going through a list, for things that the service only lists. Throws a
 * `CommandError` when there is none.
 */
export async function requireListed<Item>(
  list: List<Item>,
  what: string,
  isIt: (item: Item) => boolean,
): Promise<Item> {
  const { items } = await collectPages(list, Number.MAX_SAFE_INTEGER, null)
  const found = items.find(isIt)
  if (found === undefined) throw new CommandError('not_found', `There is no such ${what}.`)
  return found
}
