import { fill, scopeWords } from '../browser/words.ts'
import { hostedPage } from './hosted-page.ts'
import { type Html, html } from './html.ts'
import type { Texts } from './texts.ts'

export interface SignInPage {
  readonly texts: Texts
  readonly state: string
  readonly csrfToken: string
  readonly siteId: string
  /** For people; the site itself has chosen it. */
  readonly siteName: string | undefined
  readonly returnUrl: URL
  readonly requestedScope: readonly string[] | undefined
  /** Where the user goes who does not want to. */
  readonly cancelUrl: string
  /** Why the last try was refused, when it was a form. */
  readonly refusal?: { readonly title: string; readonly next: string }
}

/**
 * Who asks, for what, and with which credential. It works as it stands for credentials that are not bound to a key; its script adds what this browser
 * keeps, files, and words before anything is sent.
 */
export function signInPage(page: SignInPage): ReturnType<typeof hostedPage> {
  const { texts, state, csrfToken, siteId, returnUrl, requestedScope, cancelUrl, refusal } = page
  const { signIn } = texts
  const site = page.siteName || siteId
  const { host } = returnUrl
  return hostedPage({
    texts,
    title: fill(signIn.title, { site }),
    script: { name: 'sign-in', data: { state, site_id: siteId, site, requested_scope: requestedScope ?? null } },
    formTarget: returnUrl,
    content: html`<section class="card">
<h1>${placed(signIn.title, { site })}</h1>
<p class="lead">${placed(signIn.asks, { site, host })}</p>
<p class="host"><bdi>${siteId}</bdi></p>
${
  requestedScope === undefined
    ? html`<p>${signIn.mayAll}</p>`
    : html`<h2>${signIn.mayLead}</h2>
<ul class="scopes">${requestedScope.map((scope) => html`<li>${scopeWords(scope, texts.verbs)} <code>${scope}</code></li>`)}</ul>`
}
<p class="quiet">${signIn.learns}</p>
<form id="present" method="post" action="/auth/present">
<input type="hidden" name="state" value="${state}">
<input type="hidden" name="csrf_token" value="${csrfToken}">
<div id="problem" role="alert" tabindex="-1">${refusal === undefined ? '' : notice(refusal, signIn.tries)}</div>
<fieldset>
<legend>${signIn.choose}</legend>
<div id="kept"></div>
<details id="another" open>
<summary>${signIn.another}</summary>
<div class="field" id="file-field" hidden>
<label for="file">${signIn.file}</label>
<input type="file" id="file" accept=".json,.txt,application/json,text/plain" aria-describedby="file-hint">
<p class="hint" id="file-hint">${signIn.fileHint}</p>
</div>
<div class="field">
<label for="credential" id="credential-label">${signIn.pasteOnly}</label>
<textarea id="credential" name="credential" rows="5" autocomplete="off" autocapitalize="off" spellcheck="false" dir="ltr" aria-describedby="credential-hint said"></textarea>
<p class="hint" id="credential-hint">${signIn.pasteHint}</p>
</div>
<p id="said" role="status"></p>
</details>
</fieldset>
<noscript><p class="notice">${signIn.noScript}</p></noscript>
<div class="actions">
<button type="submit" class="primary" id="submit">${signIn.submit}</button>
<a class="button" href="${cancelUrl}" id="cancel">${signIn.cancel}</a>
</div>
</form>
</section>`,
  })
}

function notice({ title, next }: { readonly title: string; readonly next: string }, more: string): Html {
  return html`<div class="notice bad"><strong>${title}</strong><p>${next} ${more}</p></div>`
}

/** Names that somebody else has chosen stand by themselves, whichever way they are written. */
function placed(text: string, values: Readonly<Record<string, string>>): readonly Html[] {
  return text.split(/(\{\w+\})/).map((part) => {
    const value = values[part.slice(1, -1)]
    return part.startsWith('{') && value !== undefined ? html`<bdi>${value}</bdi>` : html`${part}`
  })
}
