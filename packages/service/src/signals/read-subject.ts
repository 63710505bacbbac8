import { isJsonObject, type JsonValue } from '@countersign/core'
import type { SignalSubject } from './signal.ts'

const NAME_CHARS_MAX = 256
const ALIASES_MAX = 8

export const NO_SUBJECT: SignalSubject = { subs: [], emails: [], session: undefined }

/**
 * The names of a user in a subject identifier (RFC 9493). Formats that name no user by `iss` and
 * `sub` or by an email address are left out, so the result may be empty.
 */
export function readSubject(identifier: JsonValue | undefined): SignalSubject {
  if (!isJsonObject(identifier)) return NO_SUBJECT
  const { format, user, identifiers } = identifier
  // Complex subjects of the Shared Signals Framework; earlier drafts have no format there.
  if (format === 'complex' || (format === undefined && user !== undefined)) return readUser(user)
  if (format !== 'aliases') return readUser(identifier)
  if (!Array.isArray(identifiers) || identifiers.length > ALIASES_MAX) return NO_SUBJECT
  const names = identifiers.map(readUser)
  return {
    subs: names.flatMap(({ subs }) => subs),
    emails: names.flatMap(({ emails }) => emails),
    session: undefined,
  }
}

export function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= NAME_CHARS_MAX
}

function readUser(identifier: JsonValue | undefined): SignalSubject {
  if (!isJsonObject(identifier)) return NO_SUBJECT
  const { format, iss, sub, email } = identifier
  if (format === 'iss_sub' && typeof iss === 'string' && isName(sub))
    return { ...NO_SUBJECT, subs: [{ issuer: iss, sub }] }
  if (format === 'email' && isName(email)) return { ...NO_SUBJECT, emails: [email] }
  return NO_SUBJECT
}
