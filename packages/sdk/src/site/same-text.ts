/** Whether two texts are equal, compared in constant time. */
export function isSameText(given: string, expected: string): boolean {
  let difference = given.length ^ expected.length
  for (let i = 0; i < expected.length; i++) difference |= expected.charCodeAt(i) ^ given.charCodeAt(i)
  return difference === 0
}
