/**
 * Repeats the last value until the length is a power of four, so that few different statements are
 * prepared. An empty list stays empty.
 */
export function padList<Value>(values: readonly Value[]): readonly Value[] {
  const last = values.at(-1)
  if (last === undefined) return []
  const length = 4 ** Math.ceil(Math.log(values.length) / Math.log(4))
  return [...values, ...Array<Value>(Math.max(0, length - values.length)).fill(last)]
}
