import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { migrations } from '../../src/store/migrations/all.ts'
import type { StoreWriter } from './store-writer.ts'

/** Gives an empty store the tables as they were before this version. Returns how to go on to it. */
export async function beginBefore(
  { sql, place }: StoreWriter,
  version: number,
): Promise<() => Promise<void>> {
  if (place.kind === 'sqlite') mkdirSync(dirname(place.file), { recursive: true })
  // The database of a test has the tables of today.
  else for (const step of ['DROP SCHEMA public CASCADE', 'CREATE SCHEMA public']) await sql(step)
  const apply = async (isWanted: (of: number) => boolean) => {
    for (const { version: of, common, [place.kind]: own } of migrations)
      if (isWanted(of)) for (const statement of [...common, ...own]) await sql(statement)
  }
  await apply((of) => of < version)
  return () => apply((of) => of === version)
}
