/** The shades of an accent on hosted pages: of the main button, and of the text on it. */
export interface Shades {
  readonly light: { readonly fill: string; readonly text: string }
  readonly dark: { readonly fill: string; readonly text: string }
}

type Colour = readonly [red: number, green: number, blue: number]

/** WCAG 2.2 §1.4.3, for text of any size. */
const CONTRAST_MIN = 4.5
const BLACK: Colour = [0, 0, 0]
const WHITE: Colour = [255, 255, 255]
/** The cards of the hosted pages: the style sheet has the same. */
const DARK_CARD: Colour = [0x18, 0x20, 0x1d]
const DARK_TEXT: Colour = [0x0d, 0x12, 0x10]
const STEPS = 100

/**
 * The shade of a colour that is nearest to it and can be read against the page, darker on light
 * pages and lighter on dark ones. Undefined unless the text is `rrggbb` in lower-case hex.
 */
export function deriveShades(hex: string): Shades | undefined {
  if (!/^[0-9a-f]{6}$/.test(hex)) return undefined
  const colour = parseColour(hex)
  return {
    light: { fill: format(shade(colour, BLACK, WHITE)), text: format(WHITE) },
    // The text is darker than the card, so the button has more contrast with it.
    dark: { fill: format(shade(colour, WHITE, DARK_CARD)), text: format(DARK_TEXT) },
  }
}

/** Mixes a colour with another in small steps until it contrasts with the background. */
function shade(colour: Colour, other: Colour, background: Colour): Colour {
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(colour, other, step / STEPS)
    if (contrast(mixed, background) >= CONTRAST_MIN) return mixed
  }
  return other
}

function mix(a: Colour, b: Colour, share: number): Colour {
  const one = (i: 0 | 1 | 2) => Math.round(a[i] * (1 - share) + b[i] * share)
  return [one(0), one(1), one(2)]
}

/** WCAG 2.2, contrast ratio. */
function contrast(a: Colour, b: Colour): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (high + 0.05) / (low + 0.05)
}

function luminance([red, green, blue]: Colour): number {
  const linear = (value: number) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function parseColour(hex: string): Colour {
  const at = (i: number) => Number.parseInt(hex.slice(i, i + 2), 16)
  return [at(0), at(2), at(4)]
}

function format(colour: Colour): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
