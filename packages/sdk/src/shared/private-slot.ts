/** What is known about objects that others made, such as the requests of a framework. */
export interface Notes<Value> {
  set(object: object, value: Value): void
  get(object: object): Value | undefined
}

/** Makes the constructor below put its private field on an object that is there already. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: that is the point.
    return object
  }
}

/**
 * Like a WeakMap, which the collector would have to sweep: with one entry for each request that was
 * half of all the time a busy server had. A note is a private field of the object, so other code
 * cannot read, list, print, copy or inherit it.
 */
export function createNotes<Value>(): Notes<Value> {
  class Note extends Given {
    #value: Value

    constructor(object: object, value: Value) {
      super(object)
      this.#value = value
    }

    static set(object: object, value: Value): void {
      if (#value in object) object.#value = value
      else new Note(object, value)
    }

    static get(object: object): Value | undefined {
      return #value in object ? object.#value : undefined
    }
  }
  return Note
}
