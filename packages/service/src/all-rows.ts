const PAGE = 1000

/**
 * Yields all rows of a paged list. `read` gets the last row of the page before, and how many rows
 * to read at most.
 */
export async function* allRows<Row>(
  read: (after: Row | undefined, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<Row, void, void> {
  for (let after: Row | undefined; ; ) {
    const page = await read(after, PAGE)
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)
  }
}
