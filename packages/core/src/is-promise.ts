/**
 * Whether a result has to be waited for. Not by `instanceof`: libraries such as zone.js replace the
 * global Promise, and the promises of async functions are not instances of theirs.
 */
export function isPromise<Value>(result: Value | Promise<Value>): result is Promise<Value> {
  return typeof (result as Partial<Promise<Value>> | null | undefined)?.then === 'function'
}
