import type { ShownBrand } from '../brand/shown-brand.ts'
import { describeScopes, describeTriesLeft, fill } from '../browser/describe.ts'
import { hostedPage } from './hosted-page.ts'
import { type Html, html } from './html.ts'
import type { Messages } from './messages.ts'
import { brandLinks, fillHtml, identityRow, supportDetails } from './parts.ts'

export interface SignInPage {
  readonly messages: Messages
  readonly state: string
  readonly csrfToken: string
  readonly siteId: string
  /** For people; the site itself has chosen it. */
  readonly siteName: string | undefined
  readonly brand?: ShownBrand | undefined
  readonly returnUrl: URL
  readonly requestedScope: readonly string[] | undefined
  /** How long the sign-in is valid from now on. */
  readonly expiresInSeconds: number
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

/** The sign-in page in a language. */
export function toSignInUrl(state: string, lang: string): string {
  return `/auth/sign-in?${new URLSearchParams({ state, ui_locales: lang })}`
}

/**
 * The sign-in page: the site and the choice of a credential. Without JavaScript it is a form for
 * credentials that are not bound to a key. With JavaScript nothing can be sent until the script is
 * ready, which adds what this browser keeps, files, and words before anything is sent.
 */
export function signInPage(page: SignInPage): ReturnType<typeof hostedPage> {
  const { messages, state, csrfToken, siteId, returnUrl, requestedScope, cancelUrl, overUrl, rejection } =
    page
  const { signIn, common, lang } = messages
  const site = page.siteName || siteId
  const identity = { siteId, name: page.siteName, brand: page.brand }
  const toLanguage = (other: string) => toSignInUrl(state, other)
  return hostedPage({
    messages,
    title: fill(signIn.title, { site }),
    script: {
      name: 'sign-in',
      statusesFor: siteId,
      data: {
        state,
        site_id: siteId,
        site,
        requested_scope: requestedScope ?? null,
        expires_in: page.expiresInSeconds,
        brand: page.brand ?? {},
      },
    },
    formTarget: returnUrl,
    toLanguage,
    accent: page.brand?.accent,
    footer: html`<span id="time-left" class="scripted"></span>${brandLinks(identity, messages)}`,
    content: html`${identityRow(identity, messages)}
<section class="sheet">
<div id="glyph" class="glyph" aria-hidden="true" hidden></div>
<h1 id="title" tabindex="-1">${fillHtml(signIn.title, { site })}</h1>
<p id="lead" hidden></p>
<div id="problem" role="alert" tabindex="-1">${rejection === undefined ? '' : notice(rejection, messages, site)}</div>
<form id="present" method="post" action="/auth/present">
<input type="hidden" name="state" value="${state}">
<input type="hidden" name="csrf_token" value="${csrfToken}">
<input type="hidden" name="ui_locales" value="${lang}">
<div class="scripted">
<fieldset>
<legend class="unseen">${signIn.choose}</legend>
<div id="kept"><div class="skeleton"><span class="unseen" role="status">${signIn.looking}</span></div></div>
</fieldset>
<details id="unusable" hidden><summary></summary><ul></ul></details>
<div id="actions" class="stack">
<button type="submit" class="btn block primary" id="submit" disabled>${signIn.submit}</button>
<a class="btn block quiet" href="${cancelUrl}" id="cancel">${signIn.cancel}</a>
</div>
<p id="progress" class="meta" role="status"></p>
<p id="slow" class="meta late">${common.slowPage} <a href="${toLanguage(lang)}">${common.reload}</a></p>
<details id="another" hidden>
<summary>${signIn.haveFile}</summary>
<div class="field">
<label for="file">${signIn.file}</label>
<input type="file" id="file" accept=".json,.txt,application/json,text/plain" aria-describedby="file-hint">
<p class="hint" id="file-hint">${signIn.fileHint}</p>
</div>
<div class="field">
<label for="credential">${signIn.paste}</label>
<textarea id="credential" rows="4" autocomplete="off" autocapitalize="off" spellcheck="false" dir="ltr" aria-describedby="credential-hint said"></textarea>
<p class="hint" id="credential-hint">${signIn.pasteHint}</p>
</div>
<p id="said" role="status"></p>
</details>
</div>
<noscript>
<p class="notice info">${signIn.noScript}</p>
<div class="field">
<label for="plain">${signIn.pasteOnly}</label>
<textarea id="plain" name="credential" rows="4" required autocomplete="off" autocapitalize="off" spellcheck="false" dir="ltr" aria-describedby="plain-hint"></textarea>
<p class="hint" id="plain-hint">${signIn.pasteHint}</p>
</div>
<div class="stack">
<button type="submit" class="btn block primary">${signIn.submit}</button>
<a class="btn block quiet" href="${cancelUrl}">${signIn.cancel}</a>
</div>
</noscript>
</form>
<div id="over" class="stack" hidden><a class="btn block primary" href="${overUrl}">${fillHtml(common.backTo, { site })}</a></div>
<details class="sees" id="sees"><summary><span>${fillHtml(signIn.sees, { site })}</span></summary><ul class="can">
<li>${signIn.seesId}</li>
<li>${requestedScope === undefined ? signIn.seesScope : fill(signIn.seesAsked, { scopes: describeScopes(requestedScope, messages).join(', ') })}</li>
<li>${signIn.seesExpiry}</li>
<li class="not">${signIn.seesNot}</li>
</ul></details>
${supportDetails([], messages, true)}
</section>`,
  })
}

function notice(
  { title, next, triesLeft }: NonNullable<SignInPage['rejection']>,
  messages: Messages,
  site: string,
): Html {
  const tries = describeTriesLeft(triesLeft, messages.signIn, site, messages.lang)
  return html`<div class="notice bad"><strong>${title}</strong><p>${next} ${tries}</p></div>`
}
