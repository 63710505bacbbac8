import { deriveShades } from '../brand/accent.ts'

/** The style sheet of an accent in lower-case hex: two properties. Undefined for other texts. */
export function toAccentStyle(hex: string): string | undefined {
  const shades = deriveShades(hex)
  if (shades === undefined) return undefined
  const { light, dark } = shades
  return `:root { --accent: light-dark(${light.fill}, ${dark.fill}); --on-accent: light-dark(${light.text}, ${dark.text}); }\n`
}
