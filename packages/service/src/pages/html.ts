/** Markup that may be sent as it is. Made by `html` only. */
export interface Html {
  readonly markup: string
}

type Part = string | number | Html | readonly Html[]

/**
 * Markup from a template. Everything put into it is text and is escaped, unless it is markup
 * itself.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: strings.reduce((before, string, i) => before + shown(parts[i - 1] ?? '') + string) }
}

function shown(part: Part): string {
  if (typeof part === 'object')
    return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('')
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
