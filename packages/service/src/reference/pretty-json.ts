const COLUMNS_MAX = 52

/** JSON for readers: what fits on a line stays on one. */
export function prettyJson(value: unknown, indent = '', columnsUsed = 0): string {
  const line = toLine(value)
  if (typeof value !== 'object' || value === null || columnsUsed + line.length <= COLUMNS_MAX) return line
  const deeper = `${indent}  `
  const items = Array.isArray(value)
    ? value.map((item) => `${deeper}${prettyJson(item, deeper, deeper.length)}`)
    : Object.entries(value).map(([name, member]) => {
        const start = `${deeper}${JSON.stringify(name)}: `
        return `${start}${prettyJson(member, deeper, start.length)}`
      })
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return `${open}\n${items.join(',\n')}\n${indent}${close}`
}

function toLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(toLine).join(', ')}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${toLine(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
