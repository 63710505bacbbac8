import { type Html, html } from '../pages/html.ts'

const icon = (markup: string): Html => ({
  markup: `<svg class="icon" viewBox="0 0 20 20" aria-hidden="true">${markup}</svg>`,
})

/** The outline of the seal: a circle with teeth. */
export function sealOutline(): string {
  const TEETH = 18
  const points = Array.from({ length: TEETH * 2 }, (_, i) => {
    const angle = (Math.PI * i) / TEETH - Math.PI / 2
    const radius = i % 2 === 0 ? 11.5 : 10.3
    return `${(12 + radius * Math.cos(angle)).toFixed(2)} ${(12 + radius * Math.sin(angle)).toFixed(2)}`
  })
  return `M${points.join('L')}Z`
}

/** Pictures of the frame, in the color of the text around them. */
export const ICONS = {
  /** Two ticks: a signature and its countersignature. */
  seal: html`<svg class="seal" viewBox="0 0 24 24" aria-hidden="true"><path d="${sealOutline()}"/><path d="M5.3 12.5l2.8 2.9 5.6-6.8M11.2 14.7l.8.7 6.2-6.8"/></svg>`,
  search: icon('<circle cx="9" cy="9" r="5.5"/><path d="m13.2 13.2 3.8 3.8"/>'),
  menu: icon('<path d="M3 6h14M3 10h14M3 14h14"/>'),
  close: icon('<path d="m5 5 10 10M15 5 5 15"/>'),
  note: icon('<circle cx="10" cy="10" r="7.5"/><path d="M10 9v5M10 6.2v.1"/>'),
  warning: icon('<path d="M10 3 18 16.5H2Z"/><path d="M10 8v4M10 14.2v.1"/>'),
  shield: icon(
    '<path d="M10 2.5 16 5v4.5c0 3.6-2.4 6.5-6 8-3.6-1.5-6-4.4-6-8V5Z"/><path d="m7.5 10 1.8 1.8 3.4-3.8"/>',
  ),
  person: icon('<circle cx="10" cy="6.5" r="3"/><path d="M3.8 17c.7-3.3 3.2-5 6.2-5s5.5 1.7 6.2 5"/>'),
  agent: icon('<rect x="4" y="7" width="12" height="9" rx="2.5"/><path d="M10 3.5V7M7.5 11v1M12.5 11v1"/>'),
  server: icon(
    '<rect x="3" y="3.5" width="14" height="5.5" rx="1.5"/><rect x="3" y="11" width="14" height="5.5" rx="1.5"/><path d="M6 6.2v.1M6 13.7v.1"/>',
  ),
  key: icon('<circle cx="7" cy="13" r="3.5"/><path d="m9.5 10.5 7-7M13.5 6.5l2 2"/>'),
  book: icon(
    '<path d="M3.5 4.5c2.5-.8 4.7-.4 6.5 1 1.8-1.4 4-1.8 6.5-1v11c-2.5-.8-4.7-.4-6.5 1-1.8-1.4-4-1.8-6.5-1ZM10 5.5v11"/>',
  ),
}
