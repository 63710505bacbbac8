import { PALETTE } from './pictures/palette.ts'

/** One line of a panel: what it shows, and its values by the number of revocations. */
export interface Series {
  readonly name: string
  /** The main line is drawn in the accent colour and has its values beside the points. */
  readonly look: 'main' | 'second' | 'before'
  readonly points: readonly (readonly [revocations: number, value: number])[]
}

export interface Panel {
  readonly title: string
  readonly series: readonly Series[]
}

const WIDTH = 480
const PANEL_HEIGHT = 236
const PLOT = { left: 84, right: 456, top: 66, bottom: 200 } as const
/** Powers of ten of the horizontal axis. */
const X = { min: 3, max: 7 } as const

const [LIGHT, DARK] = [toColors(0), toColors(1)]
const LINES = {
  main: { light: PALETTE.green[0], dark: PALETTE.green[1], dash: '' },
  second: { light: PALETTE.amber[0], dark: PALETTE.amber[1], dash: '' },
  before: { light: PALETTE.edge[0], dark: PALETTE.edge[1], dash: '5 4' },
} as const

function toColors(scheme: 0 | 1) {
  const { panel, ink, quiet, line } = PALETTE
  return { ground: panel[scheme], ink: ink[scheme], quiet: quiet[scheme], grid: line[scheme] }
}

/**
 * Panels below each other, both axes logarithmic. Without styles it has the light colours; a reader
 * that prefers dark ones gets these. All text is readable when the picture is 340 pixels wide.
 */
export function drawGrowth(title: string, panels: readonly Panel[]): string {
  const height = panels.length * PANEL_HEIGHT + 16
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="15" fill="${LIGHT.ink}">
<title>${title}</title>
<style>${darkStyle()}</style>
<rect class="ground grid" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="14" fill="${LIGHT.ground}" stroke="${LIGHT.grid}"/>
${panels.map((panel, i) => `<g transform="translate(0 ${8 + i * PANEL_HEIGHT})">\n${drawPanel(panel)}</g>`).join('\n')}
</svg>
`
}

function darkStyle(): string {
  const lines = Object.entries(LINES).map(
    ([look, { dark }]) => `.${look}{stroke:${dark}}.${look}-fill{fill:${dark}}`,
  )
  return `@media (prefers-color-scheme:dark){svg{fill:${DARK.ink}}.ground{fill:${DARK.ground}}.halo{stroke:${DARK.ground}}.quiet{fill:${DARK.quiet}}.grid{stroke:${DARK.grid}}${lines.join('')}}`
}

interface Scale {
  readonly min: number
  readonly max: number
}

function drawPanel({ title, series }: Panel): string {
  const shown = series.filter(({ points }) => points.length > 0)
  const values = shown.flatMap(({ points }) => points.map(([, value]) => Math.log10(value)))
  const scale = { min: Math.floor(Math.min(...values)), max: Math.ceil(Math.max(...values) + 0.12) }
  return [
    `<text x="16" y="24" font-weight="650">${title}</text>`,
    drawLegend(shown),
    drawGrid(scale),
    ...shown.toReversed().map((each) => drawSeries(each, scale)),
    '',
  ].join('\n')
}

/** The names of the lines, one after the other. */
function drawLegend(series: readonly Series[]): string {
  let x = 16
  return series
    .map(({ name, look }) => {
      const at = x
      x += 40 + name.length * 7.4
      return `${line(at, 43, at + 18, 43, look)}<text class="quiet" x="${at + 23}" y="48" font-size="14" fill="${LIGHT.quiet}">${name}</text>`
    })
    .join('\n')
}

function drawGrid(scale: Scale): string {
  const parts: string[] = []
  for (let power = X.min; power <= X.max; power++) {
    const x = toX(10 ** power)
    parts.push(
      `<path class="grid" d="M${x} ${PLOT.top}V${PLOT.bottom}" stroke="${LIGHT.grid}"/>`,
      axisText(x, PLOT.bottom + 20, 'middle', `10${superscript(power)}`),
    )
  }
  for (let power = scale.min; power <= scale.max; power++) {
    const y = toY(10 ** power, scale)
    parts.push(
      `<path class="grid" d="M${PLOT.left} ${y}H${PLOT.right}" stroke="${LIGHT.grid}"/>`,
      axisText(PLOT.left - 6, y + 5, 'end', formatValue(10 ** power)),
    )
  }
  return parts.join('\n')
}

function axisText(x: number, y: number, anchor: string, text: string): string {
  return `<text class="quiet" x="${x}" y="${round(y)}" text-anchor="${anchor}" font-size="14" fill="${LIGHT.quiet}">${text}</text>`
}

function drawSeries({ look, points }: Series, scale: Scale): string {
  const at = points.map(([revocations, value]) => ({
    x: toX(revocations),
    y: toY(value, scale),
    text: formatValue(value),
  }))
  const { light, dash } = LINES[look]
  const dashes = dash === '' ? '' : ` stroke-dasharray="${dash}"`
  const path = `<path class="${look}" d="M${at.map(({ x, y }) => `${x} ${y}`).join('L')}" fill="none" stroke="${light}" stroke-width="2"${dashes}/>`
  const marks = at.map(
    ({ x, y }) => `<circle class="${look}-fill" cx="${x}" cy="${y}" r="3.5" fill="${light}"/>`,
  )
  const labels =
    look === 'main'
      ? at.map(
          ({ x, y, text }, i) =>
            `<text class="main-fill halo" x="${i === 0 ? x - 6 : Math.min(x, PLOT.right - 8)}" y="${round(y - 8)}" text-anchor="${i === 0 ? 'start' : 'middle'}" font-size="14" fill="${light}" stroke="${LIGHT.ground}" stroke-width="4" paint-order="stroke" stroke-linejoin="round">${text}</text>`,
        )
      : []
  return [path, ...marks, ...labels].join('\n')
}

function line(x1: number, y1: number, x2: number, y2: number, look: Series['look']): string {
  const { light, dash } = LINES[look]
  const dashes = dash === '' ? '' : ` stroke-dasharray="${dash}"`
  return `<path class="${look}" d="M${round(x1)} ${y1}L${round(x2)} ${y2}" stroke="${light}" stroke-width="2"${dashes}/>`
}

function toX(revocations: number): number {
  const part = (Math.log10(revocations) - X.min) / (X.max - X.min)
  return round(PLOT.left + 8 + part * (PLOT.right - PLOT.left - 24))
}

function toY(value: number, { min, max }: Scale): number {
  const part = (Math.log10(value) - min) / (max - min)
  return round(PLOT.bottom - part * (PLOT.bottom - PLOT.top))
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** Two digits that count: `0.04`, `1.4`, `23`, `9,900`. */
function formatValue(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en', { maximumFractionDigits: 6 })
}

function superscript(power: number): string {
  return '⁰¹²³⁴⁵⁶⁷⁸⁹'[power] ?? ''
}
