export interface Column<Row> {
  readonly title: string
  readonly align?: 'left' | 'right'
  readonly text: (row: Row) => string
}

/** Rows under their titles, aligned with spaces, one line each. */
export function formatTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ text }) => text(row))),
  ]
  const widths = columns.map((_, i) => Math.max(...lines.map((cells) => cells[i]?.length ?? 0)))
  const formatLine = (cells: readonly string[]) =>
    cells
      .map((cell, i) =>
        columns[i]?.align === 'right' ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
      )
      .join('  ')
  const [head = [], ...body] = lines
  return [formatLine(head), widths.map((width) => '─'.repeat(width)).join('  '), ...body.map(formatLine)]
    .map((line) => line.trimEnd())
    .join('\n')
}

/**
 * At least three digits that count, thousands parted by commas, never an exponent: `0.0241`,
 * `3.52`, `152`, `2,140`.
 */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (value === 0) return '0'
  const rounded = Number(value.toPrecision(3))
  const decimals = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded)))))
  return (decimals === 0 ? value : rounded).toLocaleString('en', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
}

export function formatPercent(part: number): string {
  return Number.isFinite(part) ? `${Math.round(part * 100)} %` : '–'
}
