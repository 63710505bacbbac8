/** A value attached to objects of other code, such as the requests of a framework. */
export interface PrivateSlot<Value> {
  set(object: object, value: Value): void
  get(object: object): Value | undefined
}

/**
 * A constructor that returns its argument: a subclass then adds its private field to that object.
 */
class ReturnsArgument {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: that is the point.
    return object
  }
}

/**
 * Works like a WeakMap, but stores the value in a private field of the object, which other code
 * cannot read, list, print, copy or inherit. With a WeakMap, garbage collection took 28 of the 48
 * µs of a request of Fastify (docs/decisions/0037-what-a-guard-costs.md).
 */
export function createPrivateSlot<Value>(): PrivateSlot<Value> {
  class Slot extends ReturnsArgument {
    #value: Value

    constructor(object: object, value: Value) {
      super(object)
      this.#value = value
    }

    static set(object: object, value: Value): void {
      if (#value in object) object.#value = value
      else new Slot(object, value)
    }

    static get(object: object): Value | undefined {
      return #value in object ? object.#value : undefined
    }
  }
  return Slot
}
