import type { Caller } from '../answer.ts'

/** The key that calls, where the http layer requires one. */
export function keyOf(caller: Caller): string {
  if (caller.kind === 'anonymous') throw new TypeError('a caller without a key has reached the route')
  return caller.keyId
}
