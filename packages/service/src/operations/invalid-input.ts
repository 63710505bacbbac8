/** An operator gave something that cannot be used; the message says what, and what to do. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
}

/** Readers of settings throw a TypeError for invalid ones; operations report `InvalidInput`. */
export function orInvalidInput<T>(read: () => T): T {
  try {
    return read()
  } catch (fault) {
    throw fault instanceof TypeError ? new InvalidInput(fault.message, { cause: fault }) : fault
  }
}
