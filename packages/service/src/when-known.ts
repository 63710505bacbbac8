/**
 * Goes on with a value at once when it is here, and later when it is not. Hot roads use it instead
 * of `await`, which makes even what is in memory wait for its turn.
 */
export function whenKnown<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
