import { describeScope, describeTriesLeft, fill } from '../browser/describe.ts'
import { hostedPage } from './hosted-page.ts'
import { type Html, html } from './html.ts'
import type { Messages } from './messages.ts'

export interface SignInPage {
  readonly messages: Messages
  readonly state: string
  readonly csrfToken: string
  readonly siteId: string
  /** For people; the site itself has chosen it. */
  readonly siteName: string | undefined
  readonly returnUrl: URL
  readonly requestedScope: readonly string[] | undefined
  /** Where *Cancel* leads. */
  readonly cancelUrl: string
  /**
   * The registered address of the site, for a sign-in that turns out to be over while the page is
   * open.
   */
  readonly overUrl: string
  /** Why the last form was rejected, and how many tries remain. */
  readonly rejection?:
    | {
        readonly title: string
        readonly next: string
        readonly triesLeft: number | undefined
      }
    | undefined
}

/**
 * The sign-in page: the site, the requested scopes and the choice of a credential. Without
 * JavaScript it is a form for credentials
 * that are not bound to a key. With JavaScript nothing can be sent until the script is ready, which
 * adds what this browser keeps, files, and words before anything is sent.
 */
export function signInPage(page: SignInPage): ReturnType<typeof hostedPage> {
  const { messages, state, csrfToken, siteId, returnUrl, requestedScope, cancelUrl, overUrl, rejection } =
    page
  const { signIn, common } = messages
  const site = page.siteName || siteId
  const { host } = returnUrl
  return hostedPage({
    messages,
    title: fill(signIn.title, { site }),
    script: {
      name: 'sign-in',
      data: { state, site_id: siteId, site, requested_scope: requestedScope ?? null },
    },
    formTarget: returnUrl,
    content: html`<section class="card">
<h1>${fillHtml(signIn.title, { site })}</h1>
<p class="lead">${fillHtml(signIn.asks, { site, host })}</p>
<p class="host"><bdi>${siteId}</bdi></p>
${
  requestedScope === undefined
    ? html`<p>${signIn.mayAll}</p>`
    : html`<h2>${signIn.mayLead}</h2>
<ul class="scopes">${requestedScope.map((scope) => html`<li>${describeScope(scope, messages.verbs)} <code>${scope}</code></li>`)}</ul>`
}
<p class="quiet">${signIn.learns}</p>
<div id="problem" role="alert" tabindex="-1">${rejection === undefined ? '' : notice(rejection, messages, site)}</div>
<form id="present" method="post" action="/auth/present">
<input type="hidden" name="state" value="${state}">
<input type="hidden" name="csrf_token" value="${csrfToken}">
<div class="scripted">
<fieldset>
<legend>${signIn.choose}</legend>
<div id="kept"><p class="quiet" role="status">${signIn.looking}</p></div>
<details id="another" hidden>
<summary>${signIn.another}</summary>
<div class="field">
<label for="file">${signIn.file}</label>
<input type="file" id="file" accept=".json,.txt,application/json,text/plain" aria-describedby="file-hint">
<p class="hint" id="file-hint">${signIn.fileHint}</p>
</div>
<div class="field">
<label for="credential">${signIn.paste}</label>
<textarea id="credential" rows="5" autocomplete="off" autocapitalize="off" spellcheck="false" dir="ltr" aria-describedby="credential-hint said"></textarea>
<p class="hint" id="credential-hint">${signIn.pasteHint}</p>
</div>
<p id="said" role="status"></p>
</details>
</fieldset>
<div class="actions">
<button type="submit" class="primary" id="submit" disabled>${signIn.submit}</button>
<a class="button" href="${cancelUrl}" id="cancel">${signIn.cancel}</a>
</div>
<p id="progress" class="quiet" role="status"></p>
<p id="slow" class="quiet late">${common.slowPage} <a href="/auth/sign-in?state=${state}">${common.reload}</a></p>
</div>
<noscript>
<p class="notice">${signIn.noScript}</p>
<div class="field">
<label for="plain">${signIn.pasteOnly}</label>
<textarea id="plain" name="credential" rows="5" required autocomplete="off" autocapitalize="off" spellcheck="false" dir="ltr" aria-describedby="plain-hint"></textarea>
<p class="hint" id="plain-hint">${signIn.pasteHint}</p>
</div>
<div class="actions">
<button type="submit" class="primary">${signIn.submit}</button>
<a class="button" href="${cancelUrl}">${signIn.cancel}</a>
</div>
</noscript>
</form>
<div id="over" class="actions" hidden><a class="button primary" href="${overUrl}">${fill(common.backTo, { site })}</a></div>
</section>`,
  })
}

function notice(
  { title, next, triesLeft }: NonNullable<SignInPage['rejection']>,
  { signIn }: Messages,
  site: string,
): Html {
  return html`<div class="notice bad"><strong>${title}</strong><p>${next} ${describeTriesLeft(triesLeft, signIn, site)}</p></div>`
}

/** Site and user names are isolated (`<bdi>`), because they may be written right to left. */
function fillHtml(text: string, values: Readonly<Record<string, string>>): readonly Html[] {
  return text.split(/(\{\w+\})/).map((part) => {
    const value = values[part.slice(1, -1)]
    return part.startsWith('{') && value !== undefined ? html`<bdi>${value}</bdi>` : html`${part}`
  })
}
