/** More edits than this make another name. */
const EDITS_MAX = 2

/** The name that a mistyped one probably means: at most two letters differ. */
export function findNearName(mistyped: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined
  let editsMin = Math.min(EDITS_MAX + 1, mistyped.length / 2)
  for (const name of names) {
    const edits = countEdits(mistyped, name)
    if (edits < editsMin) {
      nearest = name
      editsMin = edits
    }
  }
  return nearest
}

/**
 * How many letters to add, remove, replace or swap with their neighbour; more than `EDITS_MAX` when
 * the lengths alone say so.
 */
function countEdits(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > EDITS_MAX) return EDITS_MAX + 1
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const line = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      line[column] = Math.min(
        (last[column] as number) + 1,
        (line[column - 1] as number) + 1,
        (last[column - 1] as number) + (isSame ? 0 : 1),
        isSwapped ? (before[column - 2] as number) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = line
  }
  return last[to.length] as number
}
