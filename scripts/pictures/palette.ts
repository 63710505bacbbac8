/** The colors of all pictures: light and dark. They are the tokens of the pages. */
export const PALETTE = {
  panel: ['#ffffff', '#18201d'],
  sunken: ['#f6f8f6', '#131a17'],
  ink: ['#141c18', '#e9efeb'],
  quiet: ['#4d5a53', '#a9b6af'],
  line: ['#dfe5e1', '#29332e'],
  edge: ['#8a968f', '#66736c'],
  green: ['#0a6448', '#63d3a8'],
  'green-soft': ['#e3f3ec', '#14352a'],
  'on-green': ['#ffffff', '#06251b'],
  red: ['#9f1d1d', '#ff9d94'],
  'red-soft': ['#fdecea', '#3a1916'],
  'on-red': ['#ffffff', '#3a0f0b'],
  amber: ['#7a4b00', '#f2c063'],
  'amber-soft': ['#fdf2dc', '#35270c'],
  blue: ['#1d4f91', '#9cc3f5'],
  'blue-soft': ['#e8f0fa', '#14263c'],
} as const satisfies Readonly<Record<string, readonly [light: string, dark: string]>>

export type Color = keyof typeof PALETTE

export const SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
export const MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, monospace"
