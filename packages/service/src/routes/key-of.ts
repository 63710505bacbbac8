import type { Caller } from './route.ts'

/** The key that calls, where the http layer lets in nobody without one. */
export function keyOf(caller: Caller): string {
  if (caller.kind === 'anonymous') throw new TypeError('somebody without a key has come past the door')
  return caller.keyId
}
