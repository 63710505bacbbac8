/**
 * Every field line of a lower-case name, in order, as Node's parser has kept them: `req.headers`
 * joins some repeated lines and drops others, and a reader that picks one of two can be made to
 * pick the wrong one. Undefined when there is none.
 */
export function findFieldLines(rawHeaders: readonly string[], name: string): readonly string[] | undefined {
  let found: string[] | undefined
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const field = rawHeaders[i] ?? ''
    if (field.length !== name.length || field.toLowerCase() !== name) continue
    const value = rawHeaders[i + 1] ?? ''
    if (found === undefined) found = [value]
    else found.push(value)
  }
  return found
}
