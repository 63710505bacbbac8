const SVG = 'http://www.w3.org/2000/svg'

/** An element with attributes and children. Texts never become markup. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value)
  created.append(...children)
  return created
}

/** An icon of one path, like those of the service. */
export function icon(path: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('viewBox', '0 0 20 20')
  svg.setAttribute('aria-hidden', 'true')
  const drawn = document.createElementNS(SVG, 'path')
  drawn.setAttribute('d', path)
  svg.append(drawn)
  return svg
}
