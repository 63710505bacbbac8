import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { SiteId } from '@countersign/core'
import { createRowMacs } from '../../packages/service/src/sealing/row-macs.ts'
import { connect, type Sql } from '../../packages/service/src/store/postgres/connect.ts'
import { openMacKeyIn, prepareDatabase } from '../../packages/service/src/store/postgres/postgres-store.ts'
import { runTransaction } from '../../packages/service/src/store/postgres/run-transaction.ts'
import type { SqlValue, Transaction } from '../../packages/service/src/store/transaction.ts'
import { readEnd, toEnd, writeEnd } from './log-end.ts'
import { type Blocks, COLUMNS, type FilledTable } from './rows.ts'

/** Text that is collected before it is sent. */
const PIECE_CHARS = 1 << 18

/** Copies all rows, each table over a connection of its own; the end of the log comes last. */
export async function fillPostgres(
  url: string,
  masterKey: Uint8Array,
  sites: readonly SiteId[],
  blocks: Blocks,
): Promise<void> {
  const run = <T>(transaction: Transaction<T>) =>
    prepareDatabase(url, async (open) => {
      const integrity = { macs: createRowMacs(await openMacKeyIn(open, masterKey)), onForged: () => {} }
      return runTransaction(transaction, open, { epoch: '', integrity })
    })
  const before = await run(readEnd(sites))
  const end = toEnd(before)
  const tables = Object.keys(COLUMNS) as FilledTable[]
  const sql = connect({ url, max: tables.length, statementMsMax: 0, lockMsMax: 0 })
  try {
    const copies = new Map(
      await Promise.all(tables.map(async (table) => [table, await openCopy(sql, table)] as const)),
    )
    for (const _ of blocks(end, (table, values) => copies.get(table)?.write(values)))
      for (const copy of copies.values()) if (copy.isFull()) await copy.send()
    for (const copy of copies.values()) await copy.close()
    await sql.unsafe('ANALYZE')
  } finally {
    await sql.end()
  }
  await run(writeEnd(before, end))
}

interface Copy {
  write(values: readonly SqlValue[]): void
  isFull(): boolean
  send(): Promise<void>
  close(): Promise<void>
}

async function openCopy(sql: Sql, table: FilledTable): Promise<Copy> {
  const stream: Writable = await sql
    .unsafe(`COPY ${table} (${COLUMNS[table].join(', ')}) FROM STDIN`)
    .writable()
  let text = ''
  const send = async () => {
    const piece = text
    text = ''
    if (!stream.write(piece)) await once(stream, 'drain')
  }
  return {
    // None of the texts has a tab, a line break or a backslash.
    write(values) {
      text += `${values.map((value) => (value === null ? '\\N' : String(value))).join('\t')}\n`
    },
    isFull: () => text.length > PIECE_CHARS,
    send,
    async close() {
      if (text !== '') await send()
      const finished = once(stream, 'finish')
      stream.end()
      await finished
    },
  }
}
