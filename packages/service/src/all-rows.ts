const PAGE = 1000

type ReadPage<Row> = (after: Row | undefined, limit: number) => Promise<readonly Row[]>

/**
 * Yields all rows of a paged list. `read` gets the last row of the page before, and how many rows
 * to read at most.
 */
export async function* allRows<Row>(read: ReadPage<Row>): AsyncGenerator<Row, void, void> {
  for (let after: Row | undefined; ; ) {
    const page = await read(after, PAGE)
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)
  }
}

/** All rows of a paged list at the same time: for lists that fit into memory. */
export async function loadAllRows<Row>(read: ReadPage<Row>): Promise<readonly Row[]> {
  const rows: Row[] = []
  for await (const row of allRows(read)) rows.push(row)
  return rows
}
