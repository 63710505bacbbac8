/** So that the first of a batch does not wait for any number of others. */
const SIZE_MAX = 16

/**
 * Collects what arrives in one turn of the event loop, and passes it to `handle` at the end of that
 * turn, in batches of up to 16. Promises that are resolved by then go on before the next batch.
 *
 * So the code for requests runs without the network stack in between, which displaces it from the
 * caches of the processor. With 64 connections, a warm request took 68 µs of CPU time instead of
 * 124, and with one connection 3 % more than before (docs/decisions/0109-requests-of-a-turn.md).
 */
export function createBatches<Item>(handle: (batch: readonly Item[]) => void): (item: Item) => void {
  let batch: Item[] = []
  return (item) => {
    if (batch.length === 0 || batch.length === SIZE_MAX) {
      const own: Item[] = []
      batch = own
      setImmediate(() => {
        if (batch === own) batch = []
        handle(own)
      })
    }
    batch.push(item)
  }
}
