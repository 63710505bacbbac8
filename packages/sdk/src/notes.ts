/** What is known about objects that others made, such as the requests of a framework. */
export interface Notes<Value> {
  set(object: object, value: Value): void
  get(object: object): Value | undefined
}

/**
 * Notes stand on the objects themselves, under a symbol that nobody else has. A WeakMap would be tidier, but the collector has to sweep it: with
 * one entry for each request that was half of all the time a busy server had. Objects that cannot be written on get one all the same.
 */
export function createNotes<Value>(name: string): Notes<Value> {
  const key = Symbol(name)
  const ofSealed = new WeakMap<object, Value>()
  return {
    set(object, value) {
      try {
        ;(object as { [key: symbol]: Value })[key] = value
      } catch {
        ofSealed.set(object, value)
      }
    },
    get: (object) => (object as { [key: symbol]: Value | undefined })[key] ?? ofSealed.get(object),
  }
}
