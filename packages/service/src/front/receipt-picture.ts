import { html } from '../pages/html.ts'

const guards = [
  ['orders-api', 'applied after 7 ms'],
  ['mcp-server', 'applied after 8 ms'],
  ['gateway', 'applied after 9 ms'],
] as const

/** The outline of the stamp: a circle with teeth. */
function stampOutline(): string {
  const TEETH = 44
  const points = Array.from({ length: TEETH * 2 }, (_, i) => {
    const angle = (Math.PI * i) / TEETH
    const radius = i % 2 === 0 ? 58 : 54.5
    return `${(60 + radius * Math.sin(angle)).toFixed(1)} ${(60 - radius * Math.cos(angle)).toFixed(1)}`
  })
  return `M${points.join('L')}Z`
}

/** An example of the proof that a revocation gives, with a guard that is cut off: the hard case. */
export const receiptPicture = html`<figure class="receipt">
<svg class="stamp" viewBox="0 0 120 120" aria-hidden="true"><defs><path id="ring" d="M60 60m-41.5 0a41.5 41.5 0 1 1 83 0a41.5 41.5 0 1 1-83 0"/></defs><path d="${stampOutline()}"/><circle cx="60" cy="60" r="50"/><circle cx="60" cy="60" r="35"/><text><textPath href="#ring" textLength="256">COUNTERSIGNED · ENTRY 1042 ·</textPath></text><path class="ticks" transform="translate(32 33) scale(2.33)" d="M5.3 12.5l2.8 2.9 5.6-6.8M11.2 14.7l.8.7 6.2-6.8"/></svg>
<figcaption>Example of a revocation receipt</figcaption>
<dl><dt>Revoked</dt><dd>User <code>ppid_4xk2…w8zn</code></dd><dt>Reason</dt><dd>Lost laptop</dd><dt>Committed</dt><dd>14:03:12.004 as entry 1042</dd></dl>
<ul class="guards">
${guards.map(([name, text]) => html`<li><span class="ok" aria-hidden="true">✓</span>${name}<span class="quiet">${text}</span></li>\n`)}<li class="cut"><span aria-hidden="true">!</span>warehouse<span>not connected</span></li>
</ul>
<p><strong>3 of 4 guards confirmed within 9 ms.</strong> 1 is cut off and rejects every request from 14:03:42.</p>
</figure>`
