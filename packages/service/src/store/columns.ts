import type { SiteId } from '@countersign/core'
import type { Row } from './transaction.ts'

/**
 * Reads a text column. Throws when it holds something else, because then the statement and its
 * reader do not match.
 */
export function text(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw new Error(`the column ${column} is not text`)
  return value
}

export function number(row: Row, column: string): number {
  const value = row[column]
  if (typeof value !== 'number') throw new Error(`the column ${column} is not a number`)
  return value
}

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw new Error(`the column ${column} has no bytes`)
  return value
}

/** Undefined for null. */
export function optionalText(row: Row, column: string): string | undefined {
  return row[column] === null ? undefined : text(row, column)
}

/** Undefined for null. */
export function optionalNumber(row: Row, column: string): number | undefined {
  return row[column] === null ? undefined : number(row, column)
}

/** Parses a column that an operation wrote with `JSON.stringify`. */
export function json<T>(row: Row, column: string): T {
  return JSON.parse(text(row, column)) as T
}

/** Undefined for null. */
export function optionalJson<T>(row: Row, column: string): T | undefined {
  return row[column] === null ? undefined : json(row, column)
}

/** The site of a row. */
export function toSiteId(row: Row): SiteId {
  return text(row, 'site_id') as SiteId
}
