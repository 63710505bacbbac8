import { randomBytes } from 'node:crypto'

const TIME_DIGITS = 9
const COUNT_DIGITS = 4
const COUNT_END = 36 ** COUNT_DIGITS

let count = 0

/** Sorts by time, and within a process by the order in which the rows were written. */
export function createAuditId(atMs: number): string {
  count = (count + 1) % COUNT_END
  return `${toAuditIdStart(atMs)}${count.toString(36).padStart(COUNT_DIGITS, '0')}${randomBytes(5).toString('hex')}`
}

/** The beginning of all ids of that time. It sorts after every earlier id. */
export function toAuditIdStart(atMs: number): string {
  return `audit_${Math.max(0, Math.floor(atMs)).toString(36).padStart(TIME_DIGITS, '0')}`
}
