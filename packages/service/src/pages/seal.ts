import { html } from './html.ts'

/** A circle with teeth, as a seal has. */
function toTeeth(center: number, outer: number, inner: number, teeth: number): string {
  const points = Array.from({ length: teeth * 2 }, (_, i) => {
    const radius = i % 2 === 0 ? outer : inner
    const angle = (Math.PI * i) / teeth - Math.PI / 2
    return [center + radius * Math.cos(angle), center + radius * Math.sin(angle)]
      .map((one) => one.toFixed(2))
      .join(' ')
  })
  return `M${points.join('L')}Z`
}

/** One signature, then the countersignature. */
const TICKS = 'M5.6 12.4l2.9 3 5.4-6.6M11.4 14.8l.7.6 6-6.6'
const EDGE = toTeeth(12, 11.4, 10.3, 18)

/** The logo in one piece of text, in the colours of the style sheet. */
export const SEAL = html`<svg class="seal" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path class="seal-ground" d="${EDGE}"/><path class="seal-ticks" d="${TICKS}"/></svg>`

/** The stamp on something that became true. */
export const STAMP = html`<svg class="stamp" viewBox="0 0 120 120" width="104" height="104" aria-hidden="true"><path d="${toTeeth(60, 58, 54, 44)}"/><circle cx="60" cy="60" r="48"/><circle cx="60" cy="60" r="41" stroke-dasharray="2 5.15"/><circle cx="60" cy="60" r="34"/><path class="stamp-ticks" d="M40 61l9.500 10 17.800-21.700M59 69l2.300 2 19.700-21.700"/></svg>`

/** The icon of the pages, for tabs and home screens. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#0a6448" d="${EDGE}"/><path fill="none" stroke="#fff" stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round" d="${TICKS}"/></svg>
`
