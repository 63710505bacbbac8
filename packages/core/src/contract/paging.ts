import * as z from 'zod'
import { integerParameter } from './fields.ts'
import { limits } from './limits.ts'
import { codedText } from './validation.ts'

const CURSOR = new RegExp(`^[A-Za-z0-9_-]{1,${limits.cursor_chars_max}}$`)

/** Query parameters of every list. */
export const pageParameters = {
  limit: integerParameter(1, limits.page_items_max)
    .default(limits.page_items_default)
    .meta({
      description: `Items on a page: 1 to ${limits.page_items_max}, by default ${limits.page_items_default}.`,
    }),
  cursor: codedText('cursor_malformed', (value) => CURSOR.test(value), 'must be a next_cursor of this list', {
    pattern: CURSOR.source,
    description: 'next_cursor of the previous page.',
  }).optional(),
}

/** One page of a list. `next_cursor` is null on the last. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item).max(limits.page_items_max),
    next_cursor: z.string().max(limits.cursor_chars_max).nullable(),
  })
}
