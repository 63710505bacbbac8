import type { Caller } from '../../answer.ts'

/** The API key of the caller or, in the console, the person, at endpoints that require one. */
export function requireKeyId(caller: Caller): string {
  if (caller.kind === 'anonymous') throw new TypeError('a caller without a key has reached the route')
  return caller.keyId ?? `person:${caller.person.personId}`
}
