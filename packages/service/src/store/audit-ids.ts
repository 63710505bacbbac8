import { randomUUID } from 'node:crypto'

const TIME_DIGITS = 9
const COUNT_DIGITS = 4
const RANDOM_DIGITS = 10
const COUNT_END = 36 ** COUNT_DIGITS

let count = 0

/** Sorts by time, and within a process by the order in which the rows were written. */
export function createAuditId(atMs: number): string {
  count = (count + 1) % COUNT_END
  // Node keeps random bytes for UUIDs in stock: `randomBytes` takes 30 µs in the writer's thread.
  const random = randomUUID().replace('-', '').slice(0, RANDOM_DIGITS)
  return `${toAuditIdStart(atMs)}${count.toString(36).padStart(COUNT_DIGITS, '0')}${random}`
}

/** The beginning of all ids of that time. It sorts after every earlier id. */
export function toAuditIdStart(atMs: number): string {
  return `audit_${Math.max(0, Math.floor(atMs)).toString(36).padStart(TIME_DIGITS, '0')}`
}
