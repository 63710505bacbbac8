import { html } from './html.ts'

/** The logo, in the colour of the text around it. */
export const MARK = html`<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path fill="currentColor" d="M12 1.5 21 5v6.2c0 5-3.6 9.3-9 11.3-5.4-2-9-6.3-9-11.3V5l9-3.5Zm4.9 6.9-6.2 6.2-2.9-2.9-1.6 1.6 4.5 4.5 7.8-7.8-1.6-1.6Z"/></svg>`
