import { parseEntryTime } from './parse-entry-time.ts'

const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/

export type Fields = { readonly [member: string]: unknown }

/**
 * The value itself if it is an object with exactly `count` members. The caller then reads that many
 * by name.
 */
export function parseFields(value: unknown, count: number): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.keys(value).length === count ? (value as Fields) : undefined
}

/** The RFC 7638 thumbprint of a key with SHA-256, in base64url. */
export function isThumbprint(value: unknown): value is string {
  return typeof value === 'string' && THUMBPRINT.test(value)
}

export function isTime(value: unknown): value is string {
  return parseEntryTime(value) !== undefined
}
