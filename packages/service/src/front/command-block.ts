import { type Html, html } from '../pages/html.ts'

/** A command with a button that copies it, and the response that follows. */
export function commandBlock(label: string, command: string, answer?: Html): Html {
  return html`<div class="code"><pre tabindex="0" role="group" aria-label="${label}"><code>${command}</code></pre>${answer === undefined ? '' : html`<pre class="answer" tabindex="0" role="group" aria-label="Response"><code>${answer}</code></pre>`}</div>`
}
