/**
 * Runs steps one after the other, in the order in which they were given. A step that fails does not
 * stop the next one.
 */
export function createInTurn(): <T>(step: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (step) => {
    const turn = last.then(step)
    last = turn.catch(() => undefined)
    return turn
  }
}
