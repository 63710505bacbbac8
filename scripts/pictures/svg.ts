import { type Color, MONO, PALETTE, SANS } from './palette.ts'

/** One drawing for wide screens and an upright one for narrow screens, with the same words. */
export interface Picture {
  readonly wide: string
  readonly narrow: string
}

/** Wide pictures have the width of the text column; narrow ones that of a phone without margins. */
export const WIDE = 720
export const NARROW = 340

export interface Drawing {
  readonly width: number
  readonly height: number
  /** A few words, and the whole content in sentences. */
  readonly title: string
  readonly description: string
  readonly parts: readonly string[]
}

/**
 * The light colors are attributes, so that viewers without styles show them; the style sheet holds
 * only the dark ones.
 */
export function toSvg({ width, height, title, description, parts }: Drawing): string {
  const body = parts.filter((part) => part !== '').join('\n')
  const tips = (Object.keys(PALETTE) as Color[]).filter((color) => body.includes(`url(#tip-${color})`))
  const markers = tips.map(
    (color) =>
      `<marker id="tip-${color}" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="6.5" markerHeight="6.5" orient="auto-start-reverse"><path d="M0 .5 9 5 0 9.5Z" ${fillWith(color)}/></marker>`,
  )
  const defs = markers.length === 0 ? '' : `<defs>${markers.join('')}</defs>\n`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc" font-family="${SANS}">
<title id="title">${escapeText(title)}</title>
<desc id="desc">${escapeText(description)}</desc>
<style>@media (prefers-color-scheme:dark){${darkRules(defs + body)}}</style>
${defs}${body}
</svg>
`
}

function darkRules(body: string): string {
  return (Object.keys(PALETTE) as Color[])
    .flatMap((color) => [
      ...(body.includes(`f-${color}"`) || body.includes(`f-${color} `)
        ? [`.f-${color}{fill:${PALETTE[color][1]}}`]
        : []),
      ...(body.includes(`s-${color}"`) ? [`.s-${color}{stroke:${PALETTE[color][1]}}`] : []),
    ])
    .join('')
}

/** The attributes of a shape with this filling and outline. */
function fillWith(fill: Color | undefined, stroke?: Color): string {
  const classes = [...(fill ? [`f-${fill}`] : []), ...(stroke ? [`s-${stroke}`] : [])].join(' ')
  const light = `fill="${fill ? PALETTE[fill][0] : 'none'}"${stroke ? ` stroke="${PALETTE[stroke][0]}"` : ''}`
  return `class="${classes}" ${light}`
}

export function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export interface BoxOptions {
  readonly fill?: Color
  readonly stroke?: Color
  readonly radius?: number
  readonly dashed?: boolean
}

export function box(
  x: number,
  y: number,
  width: number,
  height: number,
  { fill, stroke, radius = 8, dashed = false }: BoxOptions = {},
): string {
  const dashes = dashed ? ' stroke-dasharray="5 4"' : ''
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}" ${fillWith(fill, stroke)}${dashes}/>`
}

/** The ground of a picture, or of one half of it. */
export function panel(y: number, width: number, height: number): string {
  return box(0.5, y + 0.5, width - 1, height - 1, { fill: 'panel', stroke: 'line', radius: 14 })
}

export interface TextOptions {
  readonly size?: number
  readonly bold?: boolean
  readonly color?: Color
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly mono?: boolean
  /** Keeps the text readable where a line crosses it: an outline in the color of the ground. */
  readonly halo?: Color
}

export function text(
  x: number,
  y: number,
  content: string,
  { size = 13, bold = false, color = 'ink', anchor = 'start', mono = false, halo }: TextOptions = {},
): string {
  const attributes = [
    `x="${round(x)}" y="${round(y)}" font-size="${size}"`,
    bold ? ' font-weight="600"' : '',
    anchor === 'start' ? '' : ` text-anchor="${anchor}"`,
    mono ? ` font-family="${MONO}"` : '',
  ].join('')
  const outline = halo ? ' stroke-width="5" stroke-linejoin="round" paint-order="stroke"' : ''
  return `<text ${attributes} ${fillWith(color, halo)}${outline}>${escapeText(content)}</text>`
}

/** Lines of text below each other. */
export function lines(x: number, y: number, contents: readonly string[], options: TextOptions = {}): string {
  const step = Math.round((options.size ?? 13) * 1.4)
  return contents.map((content, i) => text(x, y + i * step, content, options)).join('\n')
}

/** The name of a picture or of a half of it, with one or two sentences below. */
export function heading(x: number, y: number, name: string, about: readonly string[], color: Color): string {
  return `${text(x, y, name, { size: 17, bold: true, color })}\n${lines(x, y + 21, about, { color: 'quiet' })}`
}

export interface LineOptions {
  readonly color?: Color
  readonly width?: number
  readonly dashed?: boolean
  readonly arrow?: boolean
}

/** A line along an SVG path, with an arrow head at its end if it is an arrow. */
export function line(
  path: string,
  { color = 'edge', width = 2, dashed = false, arrow = false }: LineOptions = {},
): string {
  const dashes = dashed ? ' stroke-dasharray="5 4"' : ''
  const tip = arrow ? ` marker-end="url(#tip-${color})"` : ''
  return `<path d="${path}" ${fillWith(undefined, color)} stroke-width="${width}"${dashes}${tip}/>`
}

export function arrow(path: string, color: Color, dashed = false): string {
  return line(path, { color, dashed, arrow: true })
}

export function dot(x: number, y: number, radius: number, fill?: Color, stroke?: Color): string {
  const width = stroke ? ' stroke-width="2"' : ''
  return `<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" ${fillWith(fill, stroke)}${width}/>`
}

/** A tick or a cross of 10 units, drawn instead of a letter that fonts may not have. */
function mark(kind: 'tick' | 'cross', x: number, y: number, color: Color): string {
  const path =
    kind === 'tick'
      ? `M${round(x - 5)} ${round(y + 0.5)}l3.4 3.6 6.4-8`
      : `M${round(x - 4)} ${round(y - 4)}l8 8m0-8l-8 8`
  return `<path d="${path}" ${fillWith(undefined, color)} stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/>`
}

/** A disc with a tick or a cross in it. */
export function badge(kind: 'tick' | 'cross', x: number, y: number): string {
  const [fill, ink] = kind === 'tick' ? (['green', 'on-green'] as const) : (['red', 'on-red'] as const)
  return `${dot(x, y, 9, fill)}${mark(kind, x, y, ink)}`
}

const PILLS = {
  accepted: { fill: 'green', stroke: undefined, ink: 'on-green', kind: 'tick' },
  denied: { fill: 'red', stroke: undefined, ink: 'on-red', kind: 'cross' },
  confirmed: { fill: 'green-soft', stroke: 'green', ink: 'green', kind: 'tick' },
  warning: { fill: 'amber-soft', stroke: 'amber', ink: 'amber', kind: undefined },
  plain: { fill: 'panel', stroke: 'line', ink: 'ink', kind: undefined },
} as const satisfies Record<string, { fill: Color; stroke: Color | undefined; ink: Color; kind: unknown }>

/** A short label with its meaning as a mark and a color. `x` is its left end, `y` its middle. */
export function pill(x: number, y: number, width: number, label: string, look: keyof typeof PILLS): string {
  const { fill, stroke, ink, kind } = PILLS[look]
  const edge = stroke === undefined ? {} : { stroke }
  const rect = box(x, y - 12, width, 24, { fill, ...edge, radius: 12 })
  const shown = { size: 13, bold: true, color: ink, anchor: 'middle' } as const
  if (kind === undefined) return `${rect}${text(x + width / 2, y + 4.5, label, shown)}`
  return `${rect}${mark(kind, x + 15, y, ink)}${text(x + 8 + width / 2, y + 4.5, label, shown)}`
}

export interface NodeOptions extends BoxOptions {
  readonly name: string
  readonly about?: readonly string[]
  readonly color?: Color
  readonly anchor?: 'start' | 'middle'
}

/** A box with a name, and what it does below. */
export function node(
  x: number,
  y: number,
  width: number,
  height: number,
  {
    name,
    about = [],
    color = 'ink',
    anchor = 'middle',
    fill = 'sunken',
    stroke = 'edge',
    ...rest
  }: NodeOptions,
): string {
  const left = anchor === 'start' ? x + 14 : x + width / 2
  const first = y + height / 2 + 5 - about.length * 9
  return [
    box(x, y, width, height, { fill, stroke, ...rest }),
    text(left, first, name, { size: 14, bold: true, color, anchor }),
    lines(left, first + 19, about, { color: 'quiet', anchor }),
  ].join('\n')
}

/** The seal: a signature and its countersignature. 24 units, scaled to `size`. */
export function seal(x: number, y: number, size: number): string {
  const points = Array.from({ length: 36 }, (_, i) => {
    const angle = (i * Math.PI) / 18
    const radius = i % 2 === 0 ? 11.5 : 10.3
    return `${round(12 + radius * Math.sin(angle))} ${round(12 - radius * Math.cos(angle))}`
  })
  const ticks = `<path d="M5.3 12.5l2.8 2.9 5.6-6.8M11.2 14.7l.8.7 6.2-6.8" ${fillWith(undefined, 'on-green')} stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round"/>`
  return `<g transform="translate(${x} ${y}) scale(${round((size / 24) * 100) / 100})"><path d="M${points.join('L')}Z" ${fillWith('green')}/>${ticks}</g>`
}
